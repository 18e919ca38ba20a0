// Plans from `calibrate` to the pictures made with them, on the golden models.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "metrics/image_io.h"
#include "run_command.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// `command` on golden model c at its smallest schedule, in f32.
CommandOutcome RunC(const std::string& command, std::vector<std::string> arguments) {
  std::vector<std::string> all = {command,
                                  "--transformer",
                                  Golden("models/c/transformer.pth"),
                                  "--vae",
                                  Golden("models/c/vae.pth"),
                                  "--text-encoder",
                                  Golden("models/t5-a")};
  if (command != "convert") all.insert(all.end(), {"--type", "f32"});
  if (command != "convert" && std::find(arguments.begin(), arguments.end(), "--pixels") == arguments.end())
    all.insert(all.end(), {"--pixels", "0.06M"});
  all.insert(all.end(), arguments.begin(), arguments.end());
  return RunCommand(all);
}

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<uint8_t> Pixels(const std::string& path) {
  const StatusOr<Image> image = ReadImage(path);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? image->rgb : std::vector<uint8_t>();
}

// A plan is made once for all tests of the suite.
class CalibrateCommandTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    plan_ = testing::TempDir() + "calibrate_command_plan.json";
    ASSERT_EQ(RunC("calibrate", {"-p", "red apple", "-p", "blue whale", "-o", plan_}).exit_status, 0);
  }
  static std::string plan_;
};
std::string CalibrateCommandTest::plan_;

TEST_F(CalibrateCommandTest, WritesAPlanAndSaysWhatItFound) {
  const std::string again = Temporary("again.json");
  const CommandOutcome outcome =
      RunC("calibrate", {"-p", "red apple", "-p", "blue whale", "-o", again, "--sets", "2"});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 prompts"));
  EXPECT_THAT(outcome.out, HasSubstr("2 disjoint sets of 1 prompts"));
  EXPECT_EQ(Read(again), Read(plan_));  // seed 0 unless another is asked for

  const nlohmann::json plan = nlohmann::json::parse(Read(plan_));
  EXPECT_EQ(plan.at("schedule").size(), 7u);
  EXPECT_EQ(plan.at("drafters").size(), plan.at("drafter_count"));
  EXPECT_EQ(plan.at("prompts"), nlohmann::json({"red apple", "blue whale"}));
  EXPECT_EQ(plan.at("stability").size(), 1u);
  for (const auto& row : plan.at("current")) {
    for (double share : row) EXPECT_TRUE(share > 0 && share <= 1 + 1e-6) << share;
  }
}

TEST_F(CalibrateCommandTest, HeadsMetricAndCountGoIntoThePlan) {
  const std::string path = Temporary("plan.json");
  ASSERT_EQ(RunC("calibrate", {"-p", "a", "-o", path, "--heads", "--metric", "random", "--drafters", "3",
                               "--refiner-start", "40", "--window", "4", "--pooling", "max"})
                .exit_status,
            0);
  const nlohmann::json plan = nlohmann::json::parse(Read(path));
  EXPECT_EQ(plan.at("drafters").size(), 3u);
  EXPECT_EQ(plan.at("metric"), "random");
  EXPECT_EQ(plan.at("refiner_start"), 40);
  EXPECT_EQ(plan.at("pooling"), "max");
  EXPECT_EQ(plan.at("asi_heads").size(), 7u);
}

TEST_F(CalibrateCommandTest, HeadsShareTheSameBytesInAnotherWay) {
  const std::string plan = Temporary("heads.json");
  ASSERT_EQ(RunC("calibrate", {"-p", "red apple", "-p", "blue whale", "-o", plan, "--heads"}).exit_status, 0);
  const auto run = [&](const std::string& options) {
    const std::string picture = Temporary(options + ".png"), report = Temporary(options + ".json");
    const CommandOutcome outcome =
        RunC("generate", {"-p", "red apple", "-s", "3", "--kv", "scalekv", "--kv-budget", "30", "--kv-plan",
                          plan, "--kv-options", options, "-o", picture, "--report", report});
    EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
    return std::pair(Pixels(picture), nlohmann::json::parse(Read(report)));
  };
  const auto [by_head, head_report] = run("sinks=4");
  const auto [even, even_report] = run("heads=even");
  EXPECT_NE(by_head, even);
  for (size_t k = 0; k < even_report.at("scales").size(); ++k)
    EXPECT_EQ(head_report.at("scales")[k].at("kv_bytes"), even_report.at("scales")[k].at("kv_bytes")) << k;
}

TEST_F(CalibrateCommandTest, FiguresAreWritten) {
  const std::string folder = Temporary("figures"), plan = Temporary("plan.json");
  const CommandOutcome run = RunC("calibrate", {"-p", "a & b", "-o", plan, "--figures", folder,
                                                "--figure-layers", "1,0", "--figure-heads", "1"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  for (const char* name :
       {"roles.svg", "density.svg", "budgets.svg", "attention-layer00.svg", "attention-layer01.svg"}) {
    const std::string svg = Read(folder + "/" + name);
    EXPECT_THAT(svg, testing::StartsWith("<svg xmlns")) << name;
    EXPECT_THAT(svg, HasSubstr("</svg>")) << name;
    EXPECT_EQ(svg.find("a & b"), std::string::npos) << name;
  }
  EXPECT_THAT(Read(folder + "/attention-layer00.svg"), HasSubstr("data:image/png;base64,"));
}

TEST_F(CalibrateCommandTest, APlanDrivesScaleKvFromItsFileAndFromThePackage) {
  const std::string package = Temporary("package.safetensors"), from_file = Temporary("file.png"),
                    from_package = Temporary("package.png"), full = Temporary("full.png");
  const std::vector<std::string> picture = {"-p", "red apple", "-s", "3", "--quiet"};
  const auto generate = [&](std::vector<std::string> more) {
    more.insert(more.end(), picture.begin(), picture.end());
    return more;
  };
  ASSERT_EQ(RunC("generate", generate({"--kv", "scalekv", "--kv-plan", plan_, "-o", from_file})).exit_status,
            0);
  ASSERT_EQ(RunC("generate", generate({"-o", full})).exit_status, 0);
  EXPECT_NE(Pixels(from_file), Pixels(full));

  ASSERT_EQ(RunC("convert", {"--plan", plan_, "--type", "f32", "-o", package, "--force"}).exit_status, 0);
  ASSERT_EQ(RunCommand(generate({"generate", "-m", package, "--type", "f32", "--pixels", "0.06M", "--kv",
                                 "scalekv", "-o", from_package}))
                .exit_status,
            0);
  EXPECT_EQ(Pixels(from_package), Pixels(from_file));

  const std::string copy = Temporary("copy.safetensors");
  ASSERT_EQ(RunCommand({"convert", "-m", package, "-o", copy, "--force"}).exit_status, 0);
  EXPECT_THAT(RunCommand({"inspect", "-m", copy}).out, HasSubstr("ScaleKV plan"));
  EXPECT_TRUE(nlohmann::json::parse(RunCommand({"inspect", "-m", copy, "--json"}).out).at("plan"));
}

TEST_F(CalibrateCommandTest, APlanForAnotherModelOrScheduleIsRefused) {
  const CommandOutcome size = RunC(
      "generate", {"-p", "a", "--kv", "scalekv", "--kv-plan", plan_, "--pixels", "0.25M", "-o", "x.png"});
  EXPECT_EQ(size.exit_status, 2);
  EXPECT_THAT(size.err, HasSubstr("7 scales"));

  const std::string other = Temporary("other.json");
  std::string text = Read(plan_);
  const size_t at = text.find("\"model\": \"") + 10;
  text[at] = text[at] == '0' ? '1' : '0';
  std::ofstream(other) << text;
  for (const CommandOutcome& model :
       {RunC("generate", {"-p", "a", "--kv", "scalekv", "--kv-plan", other, "-o", "x.png"}),
        RunC("convert", {"--plan", other, "-o", "x.safetensors"})}) {
    EXPECT_EQ(model.exit_status, 2);
    EXPECT_THAT(model.err, HasSubstr("a plan for another model"));
  }
  EXPECT_FALSE(fs::exists("x.png"));
  EXPECT_FALSE(fs::exists("x.safetensors"));
}

TEST_F(CalibrateCommandTest, ThePublishedBudgetFileIsAPlan) {
  const std::string path = Temporary("budget.json"), out = Temporary("out.png");
  nlohmann::json row = {{"Max", 40}, {"Min", 20}};
  const int layers = nlohmann::json::parse(Read(plan_)).at("depth");
  for (int l = 0; l < layers; ++l) row["Block " + std::to_string(l)] = l == 0 ? 1 : 0;
  std::ofstream(path) << nlohmann::json({{"Scale 5", row}, {"Scale 6", row}});
  for (const char* policy : {"scalekv", "scalekv-reference"}) {
    const CommandOutcome run = RunC(
        "generate", {"-p", "a", "--kv", policy, "--kv-plan", path, "--kv-options", "window=16", "-o", out});
    EXPECT_EQ(run.exit_status, 0) << policy << run.err;
  }
  row["Block " + std::to_string(layers)] = 0;
  std::ofstream(path) << nlohmann::json({{"Scale 5", row}});
  const CommandOutcome refused =
      RunC("generate", {"-p", "a", "--kv", "scalekv", "--kv-plan", path, "-o", out});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("another model"));
}

}  // namespace
}  // namespace nextscale
