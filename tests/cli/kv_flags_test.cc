#include "cli/kv_flags.h"

#include <gtest/gtest.h>

#include "cli/prune_flags.h"

namespace nextscale {
namespace {

KvOptions Kv(const KvFlags& flags) {
  const StatusOr<KvOptions> kv = ParseKvFlags(flags);
  EXPECT_TRUE(kv.ok()) << kv.status();
  return kv.value_or(KvOptions{});
}

TEST(KvFlags, BudgetsArePercentOrTokens) {
  const KvOptions percent = Kv({.policy = "snapkv", .budget = "12.5%"});
  EXPECT_EQ(percent.policy, KvPolicyKind::kSnapKv);
  EXPECT_EQ(percent.budget_percent, 12.5);
  EXPECT_FALSE(percent.budget_tokens.has_value());
  EXPECT_EQ(Kv({.policy = "scalekv", .budget = "650"}).budget_tokens, 650);
  for (const char* bad : {"0", "0%", "-1", "100.5%", "%", "ten", "1e99999%", "nan%", "10%%", "6.5"})
    EXPECT_EQ(ParseKvFlags({.policy = "snapkv", .budget = bad}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
}

TEST(KvFlags, OptionsOfPolicies) {
  const KvOptions kv =
      Kv({.policy = "scalekv",
          .options = "window=9,pooling=max,refiner-start=600,decay=70,sinks=2,beta=7,start=6"});
  EXPECT_EQ(kv.window, 9);
  EXPECT_EQ(kv.pooling, Pooling::kMax);
  EXPECT_EQ(kv.refiner_start, 600);
  EXPECT_EQ(kv.decay, 70);
  EXPECT_EQ(kv.sinks, 2);
  EXPECT_EQ(kv.beta, 7);
  EXPECT_EQ(kv.reference_start, 6);
  for (const char* bad :
       {"window", "window=", "window=0", "window=x", "pooling=median", "beta=0", "speed=9", ","})
    EXPECT_EQ(ParseKvFlags({.policy = "scalekv", .options = bad}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
}

TEST(PruneFlags, PresetsAndLists) {
  const PruneOptions preset = *ParsePruneFlags({.preset = "fastvar"}, 13);
  ASSERT_EQ(preset.ratios.size(), 4u);
  EXPECT_EQ(preset.ratios[0].scale, 9);
  const PruneOptions lists = *ParsePruneFlags({.ratios = "9=0.4,11=1", .source = "7", .layers = "2-5"}, 13);
  ASSERT_EQ(lists.ratios.size(), 2u);
  EXPECT_EQ(lists.ratios[1].left_out, 1.0);
  EXPECT_EQ(lists.source, 7);
  EXPECT_EQ(lists.layers, (std::pair<int64_t, int64_t>(2, 5)));
  EXPECT_TRUE(ParsePruneFlags({}, 13)->ratios.empty());
}

TEST(PruneFlags, WrongOnesAreRefused) {
  const std::vector<PruneFlags> wrong = {{.preset = "quickvar"},
                                         {.preset = "fastvar-"},
                                         {.ratios = "9"},
                                         {.ratios = "9=x"},
                                         {.ratios = "a=0.4"},
                                         {.ratios = "9=0.4,,"},
                                         {.ratios = "9=0.4", .source = "x"},
                                         {.ratios = "9=0.4", .layers = "5"},
                                         {.source = "3"},
                                         {.layers = "3-4"}};
  for (size_t i = 0; i < wrong.size(); ++i)
    EXPECT_EQ(ParsePruneFlags(wrong[i], 13).status().code(), absl::StatusCode::kInvalidArgument) << i;
}

}  // namespace
}  // namespace nextscale
