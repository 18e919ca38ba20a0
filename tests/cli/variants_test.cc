// Lists of settings to single ones.
#include "cli/variants.h"

#include <gmock/gmock.h>

namespace nextscale {
namespace {

using testing::ElementsAre;

std::vector<std::string> Names(const KvFlags& kv, const PruneFlags& prune) {
  std::vector<std::string> names;
  for (const Variant& v : ExpandVariants(kv, prune)) names.push_back(v.name);
  return names;
}

TEST(Variants, WithoutListsThereIsOne) {
  EXPECT_THAT(ExpandVariants({}, {}), ElementsAre(Variant{.name = "full"}));
  EXPECT_THAT(ExpandVariants({.policy = "snapkv", .budget = "650", .type = "f32"}, {.preset = "fastvar"}),
              ElementsAre(Variant{.name = "snapkv 650 fastvar",
                                  .kv = {.policy = "snapkv", .budget = "650", .type = "f32"},
                                  .prune = {.preset = "fastvar"}}));
}

TEST(Variants, EveryPolicyBudgetAndPruning) {
  EXPECT_THAT(Names({.policy = "full,snapkv,scalekv", .budget = "4%,650"}, {.preset = "none,fastvar"}),
              ElementsAre("full", "full fastvar", "snapkv 4%", "snapkv 4% fastvar", "snapkv 650",
                          "snapkv 650 fastvar", "scalekv 4%", "scalekv 4% fastvar", "scalekv 650",
                          "scalekv 650 fastvar"));
  EXPECT_THAT(Names({.policy = "snapkv"}, {}), ElementsAre("snapkv 10%"));
}

TEST(Variants, RatiosArePruningsBesidePresets) {
  const std::vector<Variant> all =
      ExpandVariants({}, {.preset = "none,fastvar", .ratios = "5=0.5,6=1;6=0.5", .layers = "1-4"});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].prune, PruneFlags{});
  EXPECT_EQ(all[1].prune, (PruneFlags{.preset = "fastvar", .layers = "1-4"}));
  EXPECT_EQ(all[2], (Variant{.name = "full 5=0.5,6=1", .prune = {.ratios = "5=0.5,6=1", .layers = "1-4"}}));
  EXPECT_EQ(all[3].name, "full 6=0.5");
}

TEST(Variants, WhatCannotBeIsLeftForTheParsers) {
  EXPECT_EQ(ExpandVariants({}, {.source = "2"})[0].prune.source, "2");
  EXPECT_THAT(Names({.policy = "full,"}, {}), ElementsAre("full", " 10%"));
}

TEST(Variants, APlanGoesToScaleKv) {
  const std::vector<Variant> all = ExpandVariants({.policy = "snapkv,scalekv", .plan = "p.json"}, {});
  EXPECT_EQ(all[0].kv.plan, "");
  EXPECT_EQ(all[1].kv.plan, "p.json");
  EXPECT_EQ(ExpandVariants({.policy = "snapkv", .plan = "p.json"}, {})[0].kv.plan, "p.json");
}

}  // namespace
}  // namespace nextscale
