#include "cli/generate_requests.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/generate_task.h"
#include "test_model.h"

namespace nextscale {
namespace {

StatusOr<PictureList> Make(const std::vector<std::string>& arguments, const ModelOptions& options = {}) {
  ModelFiles files;
  files.options = options;
  return MakePictureList(ParseGenerate(arguments), TestModelInfo(), files);
}

std::vector<std::string> WithFile(const std::string& text, std::vector<std::string> arguments) {
  const std::string path = testing::TempDir() + "prompts.jsonl";
  std::ofstream(path) << text;
  arguments.insert(arguments.end(), {"--prompts", path});
  return arguments;
}

TEST(GenerateRequests, SeedsCountOverPromptsThenCount) {
  const auto list = Make({"-p", "a", "-p", "b", "--count", "2", "-s", "18446744073709551614"});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->pictures.size(), 4u);
  const char* prompts[] = {"a", "a", "b", "b"};
  const uint64_t seeds[] = {~uint64_t{1}, ~uint64_t{0}, 0, 1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(list->pictures[i].request.prompt, prompts[i]);
    EXPECT_EQ(list->pictures[i].request.seed, seeds[i]);
  }
  EXPECT_EQ(list->pictures[3].output, "picture-0003.png");
}

TEST(GenerateRequests, ALinesSeedDoesNotShiftTheOthers) {
  const auto list = Make(WithFile("a\n{\"prompt\": \"b\", \"seed\": 99}\nc\n", {"-s", "5"}));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->pictures[0].request.seed, 5u);
  EXPECT_EQ(list->pictures[1].request.seed, 99u);
  EXPECT_EQ(list->pictures[2].request.seed, 7u);
}

TEST(GenerateRequests, DefaultsPresetsFlagsLines) {
  const PictureRequest plain = Make({"-p", "a"})->pictures[0].request;
  EXPECT_EQ(plain.cfg, std::vector<float>(13, 3));
  EXPECT_EQ(plain.tau, std::vector<float>(13, 1));
  EXPECT_EQ(plain.top_p, 0.97);
  EXPECT_EQ(plain.top_k, 900);
  EXPECT_EQ(plain.cfg_insertion_layer, std::vector<int>({0}));
  EXPECT_FALSE(plain.negative.has_value());

  const ModelOptions presets = {{"preset.cfg", "4"}, {"preset.tau", "0.5"}, {"preset.top_p", "0.9"}};
  EXPECT_EQ(Make({"-p", "a"}, presets)->pictures[0].request.cfg[0], 4);
  EXPECT_EQ(Make({"-p", "a"}, presets)->pictures[0].request.top_p, 0.9);
  EXPECT_EQ(Make({"-p", "a", "--tau", "0.7"}, presets)->pictures[0].request.tau[12], 0.7f);

  const auto lines = WithFile(R"({"prompt": "a", "cfg": 1, "pixels": "0.06M", "negative": "n", "top_p": 0})",
                              {"--cfg", "2", "--aspect", "2:1", "--top-p", "0.5"});
  const Picture line = Make(lines)->pictures[0];
  EXPECT_EQ(line.request.cfg, std::vector<float>(7, 1));
  EXPECT_EQ(line.request.schedule.last(), (MapSize{11, 22}));
  EXPECT_EQ(line.width, 22 * 16);
  EXPECT_EQ(line.request.negative, "n");
  EXPECT_EQ(line.request.top_p, 0);
}

TEST(GenerateRequests, ErrorsOfAFileNameTheLine) {
  const Status status = Make(WithFile("a\n{\"prompt\": \"b\", \"cfg\": [1, 2]}\n", {})).status();
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_NE(status.message().find("line 2: "), absl::string_view::npos) << status;
}

TEST(GenerateRequests, WrongValuesAreRefused) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"-p", "a", "--tau", "0"},
                                             {"-p", "a", "--cfg", "1,2"},
                                             {"-p", "a", "--top-p", "1.5"},
                                             {"-p", "a", "--top-k", "-1"},
                                             {"-p", "a", "--cfg-insertion-layer", "3"},
                                             {"-p", "a", "--seed", "x"},
                                             {"-p", "\xff"},
                                             {"-p", "a", "-n", "\xc0\x80"}}) {
    EXPECT_EQ(Make(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad.back();
  }
}

TEST(SplitIntoBatches, BySchedule) {
  const auto list =
      Make(WithFile("a\n{\"prompt\": \"w\", \"aspect\": \"2:1\"}\nb\nc\n{\"prompt\": \"w\", \"aspect\": "
                    "\"2:1\"}\n{\"prompt\": \"s\", \"pixels\": \"0.06M\"}\nd\n",
                    {}));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(SplitIntoBatches(list->pictures, 2), (Batches{{0, 2}, {1, 4}, {3, 6}, {5}}));
  EXPECT_EQ(SplitIntoBatches(list->pictures, 1).size(), 7u);
  EXPECT_EQ(SplitIntoBatches(list->pictures, 99), (Batches{{0, 2, 3, 6}, {1, 4}, {5}}));
}

TEST(GenerateRequests, SnappingIsSaidOnce) {
  const auto list = Make({"-p", "a", "-p", "b", "--size", "1000x1000"});
  EXPECT_EQ(list->notices.size(), 1u);
}

}  // namespace
}  // namespace nextscale
