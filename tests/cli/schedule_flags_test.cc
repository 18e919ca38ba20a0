#include "cli/schedule_flags.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_model.h"

namespace nextscale {
namespace {

TEST(ChooseSchedule, ExactSizesComeBackWithoutANotice) {
  const ModelInfo info = TestModelInfo();
  for (const double ratio : ScheduleRatios()) {
    for (const int scales : {7, 10, 12, 13}) {
      const ScaleSchedule s = MakeSchedule(ratio, scales);
      const std::string size = fmt::format("{}x{}", 16 * s.last().w, 16 * s.last().h);
      const ChosenSchedule chosen = ChooseSchedule({.size = size}, info).value();
      EXPECT_EQ(chosen.schedule.maps, s.maps) << size;
      EXPECT_EQ(chosen.schedule.rope_grid, s.rope_grid) << size;
      EXPECT_EQ(chosen.notice, "") << size;
    }
  }
}

TEST(ChooseSchedule, OtherSizesSnapAndSaySo) {
  const ChosenSchedule near = ChooseSchedule({.size = "1000x1000"}, TestModelInfo()).value();
  EXPECT_EQ(near.width, 1024);
  EXPECT_EQ(near.height, 1024);
  EXPECT_NE(near.notice.find("1024x1024"), std::string::npos);
  const ChosenSchedule wide = ChooseSchedule({.size = "1920x1080"}, TestModelInfo()).value();
  EXPECT_EQ(wide.width, 84 * 16);  // ratio 0.5625: key 0.571
  EXPECT_EQ(wide.height, 48 * 16);
}

TEST(ChooseSchedule, AspectIsWidthToHeight) {
  const ChosenSchedule chosen = ChooseSchedule({.aspect = "4:3", .pixels = "0.06M"}, TestModelInfo()).value();
  EXPECT_EQ(chosen.schedule.last(), (MapSize{15, 20}));  // h, w
  EXPECT_EQ(chosen.notice, "");
  EXPECT_NE(ChooseSchedule({.aspect = "5:3"}, TestModelInfo()).value().notice, "");
}

TEST(ChooseSchedule, DefaultIsWhatTheModelWasTrainedAt) {
  ModelInfo info = TestModelInfo();
  EXPECT_EQ(ChooseSchedule({}, info).value().schedule.scales(), 13);
  info.transformer->levels = 10;
  EXPECT_EQ(ChooseSchedule({}, info).value().schedule.scales(), 10);
  info.trained_scales = 7;
  const ChosenSchedule trained = ChooseSchedule({}, info).value();
  EXPECT_EQ(trained.schedule.scales(), 7);
  EXPECT_EQ(trained.notice, "");
  EXPECT_NE(ChooseSchedule({.pixels = "0.25M"}, info).value().notice.find("trained at 0.06M"),
            std::string::npos);
}

TEST(ChooseSchedule, ASizeIsWithinTheModelsLevels) {
  ModelInfo info = TestModelInfo();
  info.transformer->levels = 8;
  EXPECT_EQ(ChooseSchedule({.size = "1024x1024"}, info).value().schedule.scales(), 7);
  info.transformer->levels = 3;
  EXPECT_FALSE(ChooseSchedule({.size = "1024x1024"}, info).ok());
}

TEST(ChooseSchedule, PatchifyDoublesATokensPixels) {
  ModelInfo info = TestModelInfo();
  info.vae->multipliers = {1, 2, 4, 4};
  info.patchify = true;
  EXPECT_EQ(ChooseSchedule({.pixels = "0.06M"}, info).value().width, 256);
}

TEST(ChooseSchedule, WrongCallsAreRefused) {
  for (const char* bad :
       {"1024", "x", "0x64", "64x", "1e9x1", "64.5x64", "-64x64", "nanxnan", "64x64x64", "16000x1000"}) {
    EXPECT_EQ(ChooseSchedule({.size = bad}, TestModelInfo()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
  for (const char* bad : {"4", "4:", "0:1", "1:100", "a:b"})
    EXPECT_FALSE(ChooseSchedule({.aspect = bad}, TestModelInfo()).ok()) << bad;
  EXPECT_FALSE(ChooseSchedule({.pixels = "2M"}, TestModelInfo()).ok());
  EXPECT_FALSE(ChooseSchedule({.size = "64x64", .pixels = "1M"}, TestModelInfo()).ok());
}

}  // namespace
}  // namespace nextscale
