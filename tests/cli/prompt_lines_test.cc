#include "cli/prompt_lines.h"

#include <gtest/gtest.h>

#include <sstream>

namespace nextscale {
namespace {

StatusOr<std::vector<PromptLine>> Parse(const std::string& text) {
  std::istringstream in(text);
  return ParsePromptLines(in, "file");
}

TEST(PromptLines, PlainAndJsonLines) {
  const auto lines = Parse(
      "\xef\xbb\xbfred apple\r\n\n  \t\n"
      R"({"prompt": "äpple", "seed": 18446744073709551615, "negative": "", "cfg": [3, 2.5], )"
      R"("tau": 0.5, "top_p": 0.97, "top_k": 2, "uncond_until": 3, "size": "64x64", "output": "o.png", )"
      R"("rng": "torch", "cfg_insertion_layer": [0, -1], "pixels": null})");
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->at(0).prompt, "red apple");
  const PromptLine& line = lines->at(1);
  EXPECT_EQ(line.where, "file, line 4");
  EXPECT_EQ(line.prompt, "äpple");
  EXPECT_EQ(line.seed, ~uint64_t{0});
  EXPECT_EQ(line.negative, "");
  EXPECT_EQ(line.cfg, "3,2.5");
  EXPECT_EQ(line.tau, "0.5");
  EXPECT_EQ(line.top_p, 0.97);
  EXPECT_EQ(line.top_k, 2);
  EXPECT_EQ(line.uncond_until, 3);
  EXPECT_EQ(line.size, "64x64");
  EXPECT_EQ(line.output, "o.png");
  EXPECT_EQ(line.rng, "torch");
  EXPECT_EQ(line.cfg_insertion_layer, "0,-1");
  EXPECT_FALSE(line.pixels.has_value());
}

TEST(PromptLines, ErrorsNameTheLine) {
  for (const char* bad :
       {R"({"prompt": "x",)", R"({"seed": 1})", R"({"prompt": 1})", R"({"prompt": "x", "seed": -1})",
        R"({"prompt": "x", "seed": 1.5})", R"({"prompt": "x", "sed": 1})", R"({"prompt": "x", "cfg": {}})",
        R"({"prompt": "x", "cfg": []})", R"({"prompt": "x", "cfg": ["3"]})",
        R"({"prompt": "x", "top_k": 99999999999})", R"({"prompt": "x", "uncond_until": -1})",
        R"({"prompt": "x", "top_p": "0.9"})", R"({})", "{", "{\"prompt\": \"\xff\"}"}) {
    const Status status = Parse(std::string("fine\n\n") + bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find("file, line 3"), absl::string_view::npos) << status;
  }
}

TEST(PromptLines, AnEmptyFileIsRefused) {
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("\n \n").ok());
  EXPECT_EQ(ExitCode(ReadPromptFile("/nonexistent").status()), 2);
  EXPECT_EQ(ExitCode(ReadPromptFile("/tmp").status()), 2);
}

TEST(PromptLines, DeepNestingDoesNotCrash) {
  EXPECT_FALSE(Parse("{\"prompt\": " + std::string(200000, '[')).ok());
  EXPECT_FALSE(
      Parse("{\"cfg\": " + std::string(20000, '[') + std::string(20000, ']') + ", \"prompt\": \"x\"}").ok());
}

}  // namespace
}  // namespace nextscale
