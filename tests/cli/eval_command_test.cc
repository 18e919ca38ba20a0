// `nextscale eval` from the call to its files, on golden model c.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "metrics/image_io.h"
#include "metrics/psnr.h"
#include "run_command.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class EvalCommandTest : public InOwnFolder {
 protected:
  static CommandOutcome Run(const std::string& command, const std::vector<std::string>& arguments) {
    std::vector<std::string> all = WithModelC(command);
    all.insert(all.end(), {"--pixels", "0.06M", "-s", "5"});
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunCommand(all);
  }
  static nlohmann::json Json(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
  }
  static Image Picture(const std::string& path) {
    StatusOr<Image> image = ReadImage(path);
    EXPECT_TRUE(image.ok()) << image.status();
    return image.ok() ? *std::move(image) : Image{};
  }
};

TEST_F(EvalCommandTest, PicturesAreThoseOfGenerateAndDistancesThoseOfPictures) {
  const CommandOutcome run =
      Run("eval", {"-p", "red apple", "-p", "blue", "-p", "green", "-b", "2", "--kv", "full,snapkv",
                   "--kv-budget", "10%,100%", "-o", "out", "--report", "r.json", "--figures", "plots"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("3 pictures"));
  EXPECT_THAT(run.out, HasSubstr("| snapkv 10% "));
  ASSERT_EQ(Run("generate", {"-p", "red apple", "-p", "blue", "-p", "green", "-b", "2", "--kv", "snapkv",
                             "--kv-budget", "10%", "-o", "g%d.png"})
                .exit_status,
            0);
  const nlohmann::json results = Json("r.json")["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(Json("r.json")["pictures"][2]["seed"], 7);
  for (int i = 0; i < 3; ++i) {
    const std::string number = "out/000" + std::to_string(i) + "-";
    const Image full = Picture(number + "full.png"), snapkv = Picture(number + "snapkv-10pct.png");
    EXPECT_EQ(snapkv.rgb, Picture("g" + std::to_string(i) + ".png").rgb);
    EXPECT_NE(snapkv.rgb, full.rgb);
    EXPECT_EQ(results[1]["psnr"]["values"][i], Psnr(full, snapkv));
    EXPECT_EQ(results[1]["ssim"]["values"][i], Ssim(full, snapkv));
    EXPECT_LT(results[1]["bits_agreeing"]["values"][i], 1.0);
    // A budget of everything changes nothing.
    EXPECT_EQ(Picture(number + "snapkv-100pct.png").rgb, full.rgb);
    EXPECT_TRUE(results[2]["psnr"]["values"][i].is_null());
    EXPECT_EQ(results[2]["bits_agreeing"]["values"][i], 1.0);
  }
  EXPECT_LT(results[1]["kv_of_full"], 0.2);
  EXPECT_EQ(results[2]["kv_of_full"], 1.0);
  for (const char* name : {"psnr-by-kv.svg", "psnr.svg", "ssim.svg", "bits.svg"})
    EXPECT_TRUE(fs::exists(fs::path("plots") / name)) << name;
  EXPECT_THAT(RunCommand({"metadata", "out/0001-snapkv-10pct.png", "--command"}).out,
              HasSubstr("--kv snapkv"));
}

TEST_F(EvalCommandTest, PrunedSettingsAreComparedToo) {
  const CommandOutcome run = Run("eval", {"-p", "x", "--prune", "none,fastvar", "--prune-ratios",
                                          "6=0.5;5=1,6=1", "--report", "r.json"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  std::vector<std::string> names;
  const nlohmann::json results = Json("r.json")["results"];
  for (const auto& result : results) names.push_back(result["name"]);
  EXPECT_THAT(names, ElementsAre("full", "full fastvar", "full 6=0.5", "full 5=1,6=1"));
  EXPECT_FALSE(results[3]["psnr"]["median"].is_null());
  EXPECT_EQ(results[3]["bits_agreeing"]["median"], 1.0);  // of the scales that ran
  EXPECT_THAT(std::vector<fs::path>(fs::directory_iterator("."), fs::directory_iterator()),
              ElementsAre(fs::path("./r.json")));
}

TEST_F(EvalCommandTest, TheFullCacheAloneIsARow) {
  const CommandOutcome run = Run("eval", {"-p", "x", "--quiet"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("1 picture, "));
  EXPECT_THAT(run.out, HasSubstr("| full "));
}

}  // namespace
}  // namespace nextscale
