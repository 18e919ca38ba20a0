// Budget files of the public code's form.
#include "calibration/budget_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "calibration/apply_plan.h"

namespace nextscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr const char* kFile =
    R"({"Scale 3": {"Block 0": 1, "Block 1": 0, "High": 1, "Max": 300, "Min": 100, "Limit": 301},
        "Scale 2": {"Block 1": 1, "Block 0": 0, "Max": 40, "Min": 10}})";

TEST(BudgetFile, ItsScaleNIsWhatScaleNFindsInTheCache) {
  const StatusOr<BudgetFile> file = ParseBudgetFile(kFile, "b.json");
  ASSERT_TRUE(file.ok()) << ErrorText(file.status());
  EXPECT_THAT(BudgetTable(*file, 4, 2), ElementsAre(ElementsAre(kNoLimit, kNoLimit), ElementsAre(10, 40),
                                                    ElementsAre(300, 100), ElementsAre(kNoLimit, kNoLimit)));
  EXPECT_THAT(BudgetTable(*file, 2, 2), ElementsAre(ElementsAre(kNoLimit, kNoLimit), ElementsAre(10, 40)));
}

TEST(BudgetFile, LoadsAsAPlanOfAsManyBlocks) {
  const StatusOr<PlanFile> file = ParsePlanFile(kFile, "b.json");
  ASSERT_TRUE(file.ok()) << ErrorText(file.status());
  EXPECT_TRUE(CheckPlanFits(*file, {.layers = 2}).ok());
  EXPECT_THAT(ErrorText(CheckPlanFits(*file, {.layers = 3})),
              HasSubstr("it has 2 blocks, the model 3 layers"));
  KvOptions kv;
  ASSERT_TRUE(ApplyPlan(*file, 3, kv).ok());
  EXPECT_EQ(kv.file_budgets[2][0], 300);
}

TEST(BudgetFile, WhateverIsNotOfTheFormIsAnError) {
  for (
      const char* bad : {
          R"({"Scale 0": {"Block 0": 1, "Max": 3, "Min": 1}})",
          R"({"Scale x": {"Block 0": 1, "Max": 3, "Min": 1}})",
          R"({"Scale 1": {"Block 1": 1, "Max": 3, "Min": 1}})",
          R"({"Scale 1": {"Block 0": 2, "Max": 3, "Min": 1}})",
          R"({"Scale 1": {"Block 0": true, "Max": 3, "Min": 1}})",
          R"({"Scale 1": {"Block 0": 1, "Max": 3}})",
          R"({"Scale 1": {"Block 0": 1, "Max": 3, "Min": 0}})",
          R"({"Scale 1": {"Block 0": 1, "Max": 3.5, "Min": 1}})",
          R"({"Scale 1": {"Max": 3, "Min": 1}})",
          R"({"Scale 1": 3})",
          R"({"Scale 1": {"Block 0": 1, "Max": 3, "Min": 1}, "Scale 2": {"Block 0": 1, "Block 1": 1, "Max": 3, "Min": 1}})",
          "{}",
          "[]",
          "{",
      }) {
    const StatusOr<BudgetFile> file = ParseBudgetFile(bad, "b.json");
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_THAT(ErrorText(file.status()), HasSubstr("b.json is not a budget file"));
  }
}

}  // namespace
}  // namespace nextscale
