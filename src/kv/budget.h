// How many tokens each layer may hold when a scale begins (scalekv.md, "Budget allocation" and "Baselines";
// equation 4 of the paper).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nextscale {

// [K][L]: scales x layers.
using LayerTable = std::vector<std::vector<int64_t>>;
using LayerFlags = std::vector<std::vector<bool>>;

// Tokens that a budget of `percent` of `tokens_before_last` means: max(1, floor(percent / 100 * P)).
int64_t UniformBudget(double percent, int64_t tokens_before_last);

// Window tokens that a budget has room for: min(window, max(1, floor(uniform / 2))); `square`: the largest
// square of it (ScaleKV's grid).
int64_t WindowSize(int64_t uniform, bool square, int64_t window = 16);

// Raises levels in equal shares, none above its cap, while some of `amount` is left; a rest smaller than the
// number of open levels goes one each to the first of them. -> what nothing could take.
int64_t Pour(std::vector<int64_t>& levels, std::span<const int64_t> caps, int64_t amount);

// In all tables added[k][l] is what layer l adds to its cache at scale k (all 0: the scale is skipped, and
// its row repeats what is held), and no budget is above what exists then.

// B tokens everywhere: sliding window, StreamingLLM, SnapKV.
LayerTable UniformBudgets(const LayerTable& added, int64_t uniform);

// PyramidKV: falling linearly over depth, mean exactly `uniform`; what a layer can't take is poured over the
// others.
LayerTable PyramidBudgets(const LayerTable& added, int64_t uniform, int64_t window, int64_t beta);

struct ScaleKvBudgetArgs {
  int64_t uniform = 0;        // B_uniform: the mean over layers
  int64_t refiner_start = 0;  // B_r(0)
  int64_t decay = 0;          // delta, a scale
  int64_t window = 16;
};
// ScaleKV: refiners get B_r(k), drafters share the rest; drafter[k][l] is the role of layer l when scale k
// reads the cache.
LayerTable ScaleKvBudgets(const LayerTable& added, const LayerFlags& drafter, const ScaleKvBudgetArgs& args);

// Shares a layer's budget of `budget` tokens a head among its heads, more to those that look far (scalekv.md,
// "Budgets by head"): head h gets window + (budget - window) * H * r_h / sum(r), r_h = 1 - asi_h / max(asi) +
// 0.1, in whole tokens by largest remainder; what is above exist_h goes to the other heads. The sum is budget
// * H wherever tokens exist to fill it. asi >= 0 (NS_CHECK).
std::vector<int64_t> HeadBudgets(int64_t budget, int64_t window, std::span<const int64_t> exist,
                                 std::span<const double> asi);

}  // namespace nextscale
