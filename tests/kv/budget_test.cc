#include "kv/budget.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kv/factory.h"

namespace nextscale {
namespace {

using nlohmann::json;

json Request(const std::string& name) {
  std::ifstream file(std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/" + name + "/request.json");
  return json::parse(file);
}

// Tokens that each layer adds at each scale of a golden request.
LayerTable Added(const json& request, int64_t layers) {
  LayerTable added;
  for (const json& map : request["scales"])
    added.push_back(std::vector<int64_t>(layers, map[0].get<int64_t>() * map[1].get<int64_t>()));
  if (request["pruner"].is_null()) return added;
  for (const auto& [scale, ratio] : request["pruner"]["ratios"].items()) {
    std::vector<int64_t>& row = added[std::stoi(scale)];
    for (int64_t l = 0; l < layers; ++l) {
      const json& pruned = request["pruner"]["layers"];
      if (ratio.get<double>() >= 1) {
        row[l] = 0;
      } else if (std::find(pruned.begin(), pruned.end(), l) != pruned.end()) {
        row[l] -= static_cast<int64_t>(static_cast<double>(row[l]) * ratio.get<double>());
      }
    }
  }
  return added;
}

LayerFlags Drafters(const json& policy, size_t scales, int64_t layers) {
  LayerFlags flags(scales, std::vector<bool>(layers, false));
  for (const json& pair : policy["drafters"]) flags[pair[0].get<size_t>()][pair[1].get<size_t>()] = true;
  return flags;
}

class GoldenBudgets : public testing::TestWithParam<const char*> {};

TEST_P(GoldenBudgets, EqualTheOraclesTable) {
  const json request = Request(GetParam()), &policy = request["policy"];
  const LayerTable expected = policy["table"].get<LayerTable>();
  const int64_t layers = static_cast<int64_t>(expected[0].size()), budget = policy["budget"];
  const LayerTable added = Added(request, layers);
  LayerTable table;
  if (policy["name"] == "scalekv") {
    table = ScaleKvBudgets(added, Drafters(policy, added.size(), layers),
                           {.uniform = budget,
                            .refiner_start = policy["refiner_budget"],
                            .decay = policy["decay"],
                            .window = policy["window"]});
  } else if (policy["name"] == "pyramidkv") {
    table = PyramidBudgets(added, budget, policy["window"], policy["beta"]);
  } else {
    table = UniformBudgets(added, budget);
  }
  EXPECT_EQ(table, expected);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenBudgets,
                         testing::Values("sliding", "streaming", "snapkv", "pyramidkv", "scalekv-paper",
                                         "scalekv-paper-nonsquare", "fastvar+scalekv"));

// scalekv.md, "A free exact test of the memory arithmetic": the paper's Table 1, in MiB.
TEST(Budgets, ReproduceThePapersMemoryColumn) {
  const auto mib = [](int64_t layers, int64_t width, int64_t tokens) {
    return (8 * 2 * layers * tokens * width * (4 + 2)) >>
           20;  // rounded down; batch 8, two streams, K in f32 and V in bf16
  };
  const int64_t P = 6425;
  EXPECT_EQ(mib(32, 2048, P), 38550);
  EXPECT_EQ(mib(32, 2048, 650), 3900);
  EXPECT_EQ(mib(32, 2048, 1300), 7800);
  EXPECT_EQ(mib(32, 2048, 265), 1590);
  EXPECT_EQ(mib(40, 3584, P), 84328);
  EXPECT_EQ(mib(40, 3584, 650), 8531);
  EXPECT_EQ(mib(40, 3584, 1300), 17062);
  EXPECT_EQ(mib(40, 3584, 265), 3478);
}

TEST(Budgets, APercentageIsOfTheTokensBeforeTheLastScale) {
  EXPECT_EQ(UniformBudget(4, 6425), 257);
  EXPECT_EQ(UniformBudget(10, 6425), 642);
  EXPECT_EQ(UniformBudget(20, 6425), 1285);
  EXPECT_EQ(UniformBudget(0.001, 100), 1);
  EXPECT_EQ(WindowSize(642, false), 16);
  EXPECT_EQ(WindowSize(25, false), 12);
  EXPECT_EQ(WindowSize(25, true), 9);
  EXPECT_EQ(WindowSize(1, true), 1);
}

// The rule with the published drafters (blocks 0 and 23) gives what scalekv.md states.
TEST(Budgets, FollowThePublishedDrafters) {
  const std::vector<int64_t> maps = {1, 4, 16, 36, 64, 144, 256, 400, 576, 1024, 1600, 2304, 4096};
  LayerTable added;
  for (int64_t n : maps) added.push_back(std::vector<int64_t>(32, n));
  LayerFlags drafter(maps.size(), std::vector<bool>(32, false));
  for (auto& row : drafter) row[0] = row[23] = true;
  const LayerTable table =
      ScaleKvBudgets(added, drafter, {.uniform = 650, .refiner_start = 1154, .decay = 56});
  for (size_t k = 8; k < maps.size(); ++k)
    EXPECT_EQ(std::accumulate(table[k].begin(), table[k].end(), int64_t{0}), 650 * 32) << k;
}

// A budget of a scale sums to the total whenever tokens exist to fill it, and no layer holds more than
// exists.
TEST(Budgets, SumToTheTotalWheneverTokensExist) {
  const std::vector<int64_t> maps = {1, 4, 16, 36, 64, 144, 256, 400, 576, 1024, 1600, 2304, 4096};
  const int64_t P = 6425;
  for (int64_t layers = 1; layers <= 60; layers += 7) {
    LayerTable added;
    for (int64_t n : maps) added.push_back(std::vector<int64_t>(layers, n));
    for (int percent = 1; percent <= 100; percent += 3) {
      const int64_t uniform = UniformBudget(percent, P), window = WindowSize(uniform, true);
      LayerFlags drafter(maps.size(), std::vector<bool>(layers, false));
      for (size_t k = 0; k < maps.size(); ++k) drafter[k][(k * 5) % layers] = true;
      const ScaleKvBudgetArgs args{.uniform = uniform,
                                   .refiner_start = uniform * 600 / 650,
                                   .decay = uniform * 70 / 650,
                                   .window = window};
      for (const LayerTable& table : {ScaleKvBudgets(added, drafter, args),
                                      PyramidBudgets(added, uniform, WindowSize(uniform, false), 20)}) {
        std::vector<int64_t> exist(layers, 0);
        for (size_t k = 0; k < maps.size(); ++k) {
          int64_t sum = 0, existing = 0;
          for (int64_t l = 0; l < layers; ++l) {
            EXPECT_LE(table[k][l], exist[l]);
            EXPECT_GE(table[k][l], std::min(exist[l], window));
            sum += table[k][l];
            existing += exist[l];
            exist[l] = table[k][l] + added[k][l];
          }
          ASSERT_EQ(sum, std::min(existing, k ? uniform * layers : 0))
              << layers << " layers, " << percent << "%, scale " << k;
        }
      }
    }
  }
}

TEST(HeadBudgets, GiveMoreToHeadsThatLookFarAndKeepTheSum) {
  const std::vector<int64_t> plenty(4, 1000);
  const std::vector<double> asi = {0.0, 0.2, 0.2, 0.4};
  const std::vector<int64_t> shares = HeadBudgets(100, 16, plenty, asi);
  // r = 1.1, 0.6, 0.6, 0.1 of 2.4, over 4 * 84 tokens: 154, 84, 84, 14 above the window.
  EXPECT_EQ(shares, (std::vector<int64_t>{170, 100, 100, 30}));
  EXPECT_EQ(HeadBudgets(100, 16, plenty, std::vector<double>(4, 0.0)), std::vector<int64_t>(4, 100));
  EXPECT_EQ(HeadBudgets(9, 9, plenty, asi), std::vector<int64_t>(4, 9));
  // What one head can't take goes to the others.
  const std::vector<int64_t> short_of = HeadBudgets(100, 16, std::vector<int64_t>{50, 1000, 1000, 1000}, asi);
  EXPECT_EQ(short_of[0], 50);
  EXPECT_EQ(std::accumulate(short_of.begin(), short_of.end(), int64_t{0}), 400);
  // All that exists, if that is less than the budget.
  const std::vector<int64_t> few = {3, 5, 5, 5};
  EXPECT_EQ(HeadBudgets(5, 4, few, asi), few);
}

TEST(HeadBudgets, SumToTheLayersBudgetsAtEveryScale) {
  const std::vector<MapSize> maps = {{1, 1},   {2, 2},   {4, 4},   {6, 6},   {8, 8},
                                     {12, 12}, {16, 16}, {20, 20}, {24, 24}, {32, 32}};
  LayerTable added;
  for (MapSize map : maps) added.push_back(std::vector<int64_t>(6, map.tokens()));
  for (const double percent : {4.0, 10.0, 37.0, 100.0}) {
    KvOptions kv{.policy = KvPolicyKind::kScaleKv, .budget_percent = percent};
    kv.drafters.assign(maps.size(), {true, false, false, false, true, false});
    kv.head_asi.assign(maps.size(), {6, {0.3, 0.01, 0.2, 0.0, 0.29}});
    const StatusOr<KvSetup> setup = MakeKvSetup(kv, maps, added);
    ASSERT_TRUE(setup.ok()) << setup.status();
    for (size_t k = 0; k < maps.size(); ++k) {
      for (size_t l = 0; l < 6; ++l) {
        const std::vector<int64_t>& heads = setup->head_budgets[k][l];
        EXPECT_EQ(std::accumulate(heads.begin(), heads.end(), int64_t{0}), 5 * setup->budgets[k][l]) << k;
        EXPECT_LE(*std::max_element(heads.begin(), heads.end()), setup->Capacity());
        const int64_t least = std::min(setup->window, setup->budgets[k][l]);
        EXPECT_GE(*std::min_element(heads.begin(), heads.end()), least);
      }
    }
    kv.even_heads = true;
    EXPECT_TRUE(MakeKvSetup(kv, maps, added)->head_budgets.empty());
  }
}

TEST(Pour, GivesEqualSharesUpToTheCapsAndTheRestToTheFirst) {
  std::vector<int64_t> levels = {0, 5, 0};
  EXPECT_EQ(Pour(levels, std::vector<int64_t>{100, 6, 3}, 12), 0);
  EXPECT_EQ(levels, (std::vector<int64_t>{8, 6, 3}));
  EXPECT_EQ(Pour(levels, std::vector<int64_t>{10, 6, 3}, 5), 3);
  EXPECT_EQ(levels, (std::vector<int64_t>{10, 6, 3}));
}

}  // namespace
}  // namespace nextscale
