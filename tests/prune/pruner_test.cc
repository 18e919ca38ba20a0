#include "prune/pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "prune/fastvar.h"

namespace nextscale {
namespace {

using testing::ElementsAre;

using Range = std::pair<int64_t, int64_t>;
constexpr int64_t kScales = 13, kDepth = 32;

Pruner MakeGood(const PruneOptions& options, int64_t scales = kScales, int64_t depth = kDepth) {
  StatusOr<Pruner> pruner = Pruner::Make(options, scales, depth);
  EXPECT_TRUE(pruner.ok()) << pruner.status();
  return pruner.ok() ? *pruner : Pruner();
}

TEST(Pruner, ThePublishedSettingAt1M) {
  const Pruner pruner = MakeGood(*FastVarPreset("fastvar", kScales));
  EXPECT_EQ(pruner.source(), 8);
  EXPECT_TRUE(pruner.Skips(11) && pruner.Skips(12));
  EXPECT_FALSE(pruner.Skips(10));
  EXPECT_EQ(pruner.Kept(9, 3, 1024), 1024 - 409);
  EXPECT_EQ(pruner.Kept(10, 27, 1600), 800);
  EXPECT_EQ(pruner.Kept(9, 2, 1024), 1024);
  EXPECT_EQ(pruner.Kept(9, 28, 1024), 1024);
  EXPECT_EQ(pruner.Kept(12, 2, 4096), 0);
  EXPECT_TRUE(pruner.Stores(8, 3));
  EXPECT_FALSE(pruner.Stores(8, 2));
  EXPECT_FALSE(pruner.Stores(9, 3));
  EXPECT_TRUE(pruner.IsLastReader(10));
}

TEST(Pruner, ShorterSchedulesCountFromTheEnd) {
  const Pruner pruner = MakeGood(*FastVarPreset("fastvar", 10));
  EXPECT_EQ(pruner.source(), 5);
  EXPECT_EQ(pruner.Kept(6, 3, 100), 60);
  EXPECT_TRUE(pruner.Skips(8) && pruner.Skips(9));
  EXPECT_EQ(FastVarPreset("fastvar", 5).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Pruner, LayersFollowTheDepth) {
  EXPECT_EQ(LayersOfDepth(32), Range(3, 27));
  EXPECT_EQ(LayersOfDepth(40), Range(4, 34));
  EXPECT_EQ(LayersOfDepth(16), Range(2, 13));
}

TEST(Pruner, NothingIsStoredWhereNothingIsRestored) {
  EXPECT_EQ(MakeGood({}).source(), -1);
  EXPECT_EQ(MakeGood({.ratios = {{9, 0.0}, {10, 0.0}}}).source(), -1);
  const Pruner skips = MakeGood({.ratios = {{11, 1.0}, {12, 1.0}}});
  EXPECT_EQ(skips.source(), -1);
  EXPECT_TRUE(skips.Skips(12));
}

TEST(Pruner, WrongOptionsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<PruneOptions> wrong = {
      {.ratios = {{13, 0.5}}},
      {.ratios = {{-1, 0.5}}},
      {.ratios = {{0, 0.5}}},
      {.ratios = {{5, 1.01}}},
      {.ratios = {{5, nan}}},
      {.ratios = {{5, 0.5}}, .source = 5},
      {.ratios = {{5, 0.5}}, .source = -1},
      {.ratios = {{4, 1.0}, {5, 0.5}}, .source = 4},
      {.ratios = {{4, 1.0}, {5, 0.5}}},  // the default source is skipped
      {.ratios = {{5, 0.5}}, .layers = Range(4, 3)},
      {.ratios = {{5, 0.5}}, .layers = Range(0, 32)},
  };
  for (size_t i = 0; i < wrong.size(); ++i)
    EXPECT_EQ(Pruner::Make(wrong[i], kScales, kDepth).status().code(), absl::StatusCode::kInvalidArgument)
        << "case " << i;
}

TEST(SelectTokens, HighestScoresInAscendingOrderLowerPlacesFirst) {
  const std::vector<float> scores = {1, 5, 2, 5, 0, 5};
  EXPECT_THAT(SelectTokens(scores, 2), ElementsAre(1, 3));
  EXPECT_THAT(SelectTokens(scores, 4), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(SelectTokens(scores, 0), ElementsAre());
  EXPECT_THAT(SelectTokens(scores, 6), ElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace nextscale
