// Roles from statistics, on tables that a person can check. Whole calibrations are compared with the oracle's
// by parity.
#include "calibration/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/attention_statistics.h"

namespace nextscale {
namespace {

using ::testing::ElementsAre;

TEST(Roles, ZIsWithinAScaleAndTheFirstIsNotRanked) {
  const ScaleTable z = ZScores({{5, 1, 1}, {1, 2, 3}, {4, 4, 4}});
  EXPECT_THAT(z[0], ElementsAre(0, 0, 0));
  const double deviation = std::sqrt(2.0 / 3.0);  // of the population
  EXPECT_DOUBLE_EQ(z[1][0], -1 / (deviation + 1e-6));
  EXPECT_DOUBLE_EQ(z[1][2], 1 / (deviation + 1e-6));
  EXPECT_THAT(z[2], ElementsAre(0, 0, 0));
}

TEST(Roles, DraftersHaveTheSmallestZAndTiesGoToTheLowerScaleThenLayer) {
  const ScaleTable z = {{-9, -9, -9}, {0, -1, 1}, {-1, -1, -2}};
  EXPECT_EQ(ChooseDrafters(z, 0), LayerFlags(3, std::vector<bool>(3)));
  EXPECT_EQ(ChooseDrafters(z, 2), (LayerFlags{{0, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
  EXPECT_EQ(ChooseDrafters(z, 3), (LayerFlags{{0, 0, 0}, {0, 1, 0}, {1, 0, 1}}));
  EXPECT_EQ(ChooseDrafters(z, 6), (LayerFlags{{0, 0, 0}, {1, 1, 1}, {1, 1, 1}}));
}

TEST(Roles, TheIndexIsAProductBeforeTheMeanOverPrompts) {
  const std::vector<AttentionTables> prompts = {{.current = {{1.0}, {0.5}}, .top = {{0.0}, {0.2}}},
                                                {.current = {{1.0}, {0.1}}, .top = {{0.0}, {0.8}}}};
  EXPECT_NEAR(MetricOf(prompts, RoleMetric::kAsi, 0)[1][0], (0.5 * 0.2 + 0.1 * 0.8) / 2, 1e-15);
  EXPECT_NEAR(MetricOf(prompts, RoleMetric::kCurrent, 0)[1][0], 0.3, 1e-15);
  EXPECT_NEAR(MetricOf(prompts, RoleMetric::kTopK, 0)[1][0], 0.5, 1e-15);
}

TEST(Roles, RandomNumbersBelongToTheSeed) {
  const std::vector<AttentionTables> prompts = {
      {.current = ScaleTable(3, std::vector<double>(4)), .top = ScaleTable(3, std::vector<double>(4))}};
  const ScaleTable one = MetricOf(prompts, RoleMetric::kRandom, 1);
  EXPECT_EQ(one, MetricOf(prompts, RoleMetric::kRandom, 1));
  EXPECT_NE(one, MetricOf(prompts, RoleMetric::kRandom, 2));
  EXPECT_DOUBLE_EQ(one[0][0], 0xe3e80670 * 0x1p-32);  // the vector of cli.md: seed 1, counter 0
  EXPECT_NE(one[0][1], one[1][0]);
}

TEST(Roles, DrafterCountIsThePapersInProportion) {
  EXPECT_EQ(DefaultDrafterCount(13, 32), 24);
  EXPECT_EQ(DefaultDrafterCount(7, 12), 5);  // 4.5
  EXPECT_EQ(DefaultDrafterCount(2, 1), 1);
}

TEST(Roles, StabilityTellsTheShareOfTheFinalDraftersThatFewerPromptsFind) {
  // Two layers; the drafter of scale 1 is layer 0 by the first prompt and layer 1 by all three.
  const auto prompt = [](double a, double b) {
    return AttentionTables{.current = {{1, 1}, {1, 1}}, .top = {{0, 0}, {a, b}}};
  };
  const std::vector<AttentionTables> prompts = {prompt(0.1, 0.2), prompt(0.5, 0.1), prompt(0.5, 0.1)};
  const std::vector<StabilityPoint> points = Stability(prompts, RoleMetric::kAsi, 1, 0);
  ASSERT_EQ(points.size(), 2u);  // of 1 and 2 prompts
  EXPECT_EQ(points[0].prompts, 1);
  EXPECT_EQ(points[0].overlap, 0);
  EXPECT_EQ(points[1].prompts, 2);
  EXPECT_EQ(points[1].overlap, 1);
}

TEST(Roles, MetricsHaveNames) {
  for (const RoleMetric m :
       {RoleMetric::kAsi, RoleMetric::kTopK, RoleMetric::kCurrent, RoleMetric::kRandom}) {
    EXPECT_EQ(*ParseRoleMetric(Name(m)), m);
  }
  EXPECT_FALSE(ParseRoleMetric("ASI").ok());
}

TEST(AttentionStatistics, SampledQueriesAreEvenlySpaced) {
  EXPECT_THAT(EvenlySpaced(0, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(EvenlySpaced(9, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(EvenlySpaced(3, 10), ElementsAre(0, 3, 6));
}

}  // namespace
}  // namespace nextscale
