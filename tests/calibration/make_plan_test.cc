#include "calibration/make_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nextscale {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// Two scales, three layers: layer `drafter` looks far.
MeasuredPrompt Prompt(const std::string& prompt, int drafter) {
  AttentionTables t{.current = {{1, 1, 1}, {0.5, 0.5, 0.5}}, .top = {{0, 0, 0}, {0.4, 0.4, 0.4}}};
  t.current[1][drafter] = 0.25;
  return {.prompt = prompt, .tables = t};
}

TEST(MakePlan, TakesMeansRanksAndKeepsTheSettings) {
  const std::vector<MeasuredPrompt> prompts = {Prompt("a", 1), Prompt("b", 1), Prompt("c", 2)};
  const Plan plan = MakePlan(std::string(64, 'a'), {{1, 1}, {2, 2}}, prompts,
                             {.top = 8, .drafter_count = 1, .decay = 7, .pooling = Pooling::kMax, .seed = 5});
  EXPECT_EQ(plan.depth, 3);
  EXPECT_EQ(plan.drafters, (LayerFlags{{0, 0, 0}, {0, 1, 0}}));
  EXPECT_NEAR(plan.current[1][1], (0.25 + 0.25 + 0.5) / 3, 1e-12);
  EXPECT_NEAR(plan.asi[1][1], plan.current[1][1] * 0.4, 1e-12);
  EXPECT_THAT(plan.prompts, ElementsAre("a", "b", "c"));
  EXPECT_EQ(plan.decay, 7);
  EXPECT_EQ(plan.refiner_start, std::nullopt);
  EXPECT_EQ(plan.seed, 5u);
  ASSERT_EQ(plan.stability.size(), 2u);  // of 1 and of 2 prompts
  EXPECT_EQ(plan.stability[0].overlap, 1);
  EXPECT_TRUE(plan.asi_heads.empty());
  const StatusOr<Plan> again = ParsePlan(PlanText(plan), "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PlanText(*again), PlanText(plan));
}

TEST(MakePlan, AHeadsIndexIsAProductBeforeTheMean) {
  std::vector<MeasuredPrompt> prompts = {Prompt("a", 0), Prompt("b", 0)};
  for (size_t i = 0; i < 2; ++i) {
    const double x = i == 0 ? 0.5 : 0.1;
    prompts[i].heads.current = {{{1}, {1}, {1}}, {{x}, {x}, {x}}};
    prompts[i].heads.top = {{{0}, {0}, {0}}, {{1 - x}, {0}, {1}}};
  }
  const Plan plan = MakePlan(std::string(64, 'a'), {{1, 1}, {2, 2}}, prompts, {.drafter_count = 1});
  EXPECT_THAT(plan.asi_heads[1][0], ElementsAre(DoubleNear((0.5 * 0.5 + 0.1 * 0.9) / 2, 1e-12)));
  EXPECT_THAT(plan.asi_heads[1][2], ElementsAre(DoubleNear(0.3, 1e-12)));
}

TEST(OverlapsOfSets, ComparesEveryPairAndLeavesTheRestOut) {
  const std::vector<MeasuredPrompt> prompts = {Prompt("a", 1), Prompt("b", 1), Prompt("c", 2),
                                               Prompt("d", 0)};
  EXPECT_THAT(OverlapsOfSets(prompts, 3, RoleMetric::kAsi, 1, 0), ElementsAre(1, 0, 0));
  EXPECT_THAT(OverlapsOfSets(prompts, 2, RoleMetric::kAsi, 1, 0).size(), 1);
}

}  // namespace
}  // namespace nextscale
