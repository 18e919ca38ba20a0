#include "kv/budget.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"

namespace nextscale {
namespace {

using Row = std::vector<int64_t>;

// rule(k, exist) -> the budgets of row k; exist[l] = what layer l held when the scale before began + what
// that scale added.
LayerTable Table(const LayerTable& added, const std::function<Row(int64_t k, const Row& exist)>& rule) {
  const size_t layers = added.empty() ? 0 : added[0].size();
  LayerTable table;
  Row exist(layers, 0);
  for (size_t k = 0; k < added.size(); ++k) {
    const bool skipped = std::all_of(added[k].begin(), added[k].end(), [](int64_t n) { return n == 0; });
    Row row = exist;
    if (k > 0 && !skipped) {
      const Row want = rule(static_cast<int64_t>(k), exist);
      for (size_t l = 0; l < layers; ++l) row[l] = std::min(want[l], exist[l]);
    }
    for (size_t l = 0; l < layers; ++l) exist[l] = row[l] + added[k][l];
    table.push_back(std::move(row));
  }
  return table;
}

int64_t Sum(const Row& row) { return std::accumulate(row.begin(), row.end(), int64_t{0}); }

}  // namespace

int64_t UniformBudget(double percent, int64_t tokens_before_last) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::floor(percent / 100.0 * static_cast<double>(tokens_before_last))));
}

int64_t WindowSize(int64_t uniform, bool square, int64_t window) {
  const int64_t fits = std::min(window, std::max<int64_t>(1, uniform / 2));
  if (!square) return fits;
  int64_t side = 1;
  while ((side + 1) * (side + 1) <= fits) ++side;
  return side * side;
}

int64_t Pour(std::vector<int64_t>& levels, std::span<const int64_t> caps, int64_t amount) {
  while (amount > 0) {
    std::vector<size_t> open;
    for (size_t i = 0; i < levels.size(); ++i) {
      if (levels[i] < caps[i]) open.push_back(i);
    }
    if (open.empty()) break;
    const int64_t share = std::max<int64_t>(1, amount / static_cast<int64_t>(open.size()));
    for (size_t i : open) {
      const int64_t give = std::min({share, caps[i] - levels[i], amount});
      levels[i] += give;
      amount -= give;
    }
  }
  return amount;
}

LayerTable UniformBudgets(const LayerTable& added, int64_t uniform) {
  return Table(added, [&](int64_t, const Row& exist) { return Row(exist.size(), uniform); });
}

LayerTable PyramidBudgets(const LayerTable& added, int64_t uniform, int64_t window, int64_t beta) {
  NS_CHECK(uniform >= window && window > 0 && beta > 0, "budget {}, window {}, beta {}", uniform, window,
           beta);
  const int64_t layers = added.empty() ? 0 : static_cast<int64_t>(added[0].size());
  const int64_t low = (uniform - window) / beta, high = 2 * (uniform - window) - low;
  // Sums of the first l + 1 budgets are rounded up, so that the deepest layers are the ones a token short.
  const auto upto = [&](int64_t l) {
    return (l + 1) * (window + high) - (high - low) * l * (l + 1) / (2 * std::max<int64_t>(1, layers - 1));
  };
  Row want(layers, uniform);
  for (int64_t l = 0; l < layers && layers > 1; ++l) want[l] = upto(l) - (l ? upto(l - 1) : 0);
  return Table(added, [&](int64_t, const Row& exist) {
    Row level = want;
    for (int64_t l = 0; l < layers; ++l) level[l] = std::min(level[l], exist[l]);
    Pour(level, exist, uniform * layers - Sum(level));
    return level;
  });
}

LayerTable ScaleKvBudgets(const LayerTable& added, const LayerFlags& drafter, const ScaleKvBudgetArgs& args) {
  const int64_t layers = added.empty() ? 0 : static_cast<int64_t>(added[0].size());
  NS_CHECK_EQ(drafter.size(), added.size());
  return Table(added, [&](int64_t k, const Row& exist) {
    // The paper counts scales from 1.
    const int64_t refiner =
        std::min(args.uniform, std::max(args.window, args.refiner_start - args.decay * (k + 1)));
    Row level(layers), caps(layers);
    for (int64_t l = 0; l < layers; ++l) {
      level[l] = drafter[k][l] ? 0 : std::min(refiner, exist[l]);
      caps[l] = drafter[k][l] ? exist[l] : level[l];
    }
    const int64_t left = Pour(level, caps, args.uniform * layers - Sum(level));
    Pour(level, exist, left);  // what the drafters can't use goes to the refiners
    return level;
  });
}

std::vector<int64_t> HeadBudgets(int64_t budget, int64_t window, std::span<const int64_t> exist,
                                 std::span<const double> asi) {
  const size_t heads = exist.size();
  NS_CHECK(heads > 0 && asi.size() == heads, "{} heads, {} indices", heads, asi.size());
  const double most = *std::max_element(asi.begin(), asi.end());
  std::vector<double> reach(heads);
  for (size_t h = 0; h < heads; ++h) {
    NS_CHECK(asi[h] >= 0, "index {}", asi[h]);
    reach[h] = 1.1 - (most > 0 ? asi[h] / most : 0);
  }
  const double sum = std::accumulate(reach.begin(), reach.end(), 0.0);
  const int64_t floor = std::min(window, budget), total = budget * static_cast<int64_t>(heads);
  const double shared = static_cast<double>(total - floor * static_cast<int64_t>(heads));
  Row levels(heads), order(heads);
  std::vector<double> remainder(heads);
  for (size_t h = 0; h < heads; ++h) {
    const double ideal = shared * reach[h] / sum;
    levels[h] = floor + static_cast<int64_t>(std::floor(ideal));
    remainder[h] = ideal - std::floor(ideal);
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return remainder[a] > remainder[b]; });
  int64_t left = total - Sum(levels);
  for (size_t i = 0; i < heads && left > 0; ++i, --left) ++levels[order[i]];
  for (size_t h = 0; h < heads; ++h) levels[h] = std::min(levels[h], exist[h]);
  Pour(levels, exist, total - Sum(levels));
  return levels;
}

}  // namespace nextscale
