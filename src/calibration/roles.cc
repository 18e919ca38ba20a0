#include "calibration/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "ops/sample.h"

namespace nextscale {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"asi", "top-k", "current", "random"};
constexpr std::array<int64_t, 7> kPrefixes = {1, 2, 5, 10, 20, 50, 128};
constexpr double kEps = 1e-6;

ScaleTable RandomTable(size_t scales, size_t layers, uint64_t seed) {
  ScaleTable table(scales, std::vector<double>(layers));
  for (size_t k = 0; k < scales; ++k) {
    for (size_t l = 0; l < layers; ++l) {
      const uint32_t word = Philox(seed, {static_cast<uint32_t>(k), static_cast<uint32_t>(l), 0, 0})[0];
      table[k][l] = std::ldexp(static_cast<double>(word), -32);
    }
  }
  return table;
}

}  // namespace

StatusOr<RoleMetric> ParseRoleMetric(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RoleMetric>(i);
  }
  return CallError(fmt::format("unknown metric '{}'", name), "",
                   fmt::format("one of {}", fmt::join(kNames, ", ")));
}

std::string_view Name(RoleMetric metric) { return kNames[static_cast<size_t>(metric)]; }

ScaleTable SelectivityIndex(const AttentionTables& tables) {
  ScaleTable asi = tables.current;
  for (size_t k = 0; k < asi.size(); ++k) {
    for (size_t l = 0; l < asi[k].size(); ++l) asi[k][l] *= tables.top[k][l];
  }
  return asi;
}

ScaleTable MeanOf(std::span<const ScaleTable> tables) {
  NS_CHECK(!tables.empty(), "no tables");
  ScaleTable mean(tables[0].size(), std::vector<double>(tables[0][0].size(), 0.0));
  for (const ScaleTable& table : tables) {
    for (size_t k = 0; k < mean.size(); ++k) {
      for (size_t l = 0; l < mean[k].size(); ++l)
        mean[k][l] += table[k][l] / static_cast<double>(tables.size());
    }
  }
  return mean;
}

AttentionTables MeanOf(std::span<const AttentionTables> prompts) {
  std::vector<ScaleTable> current, top;
  for (const AttentionTables& p : prompts) {
    current.push_back(p.current);
    top.push_back(p.top);
  }
  return {.current = MeanOf(current), .top = MeanOf(top)};
}

ScaleTable MetricOf(std::span<const AttentionTables> prompts, RoleMetric metric, uint64_t seed) {
  NS_CHECK(!prompts.empty(), "no prompts");
  if (metric == RoleMetric::kRandom)
    return RandomTable(prompts[0].current.size(), prompts[0].current[0].size(), seed);
  if (metric == RoleMetric::kCurrent) return MeanOf(prompts).current;
  if (metric == RoleMetric::kTopK) return MeanOf(prompts).top;
  std::vector<ScaleTable> asi;
  for (const AttentionTables& p : prompts) asi.push_back(SelectivityIndex(p));
  return MeanOf(asi);
}

ScaleTable ZScores(const ScaleTable& metric) {
  ScaleTable z = metric;
  for (size_t k = 0; k < z.size(); ++k) {
    const double layers = static_cast<double>(z[k].size());
    const double mean = std::accumulate(z[k].begin(), z[k].end(), 0.0) / layers;
    double variance = 0;
    for (double x : z[k]) variance += (x - mean) * (x - mean) / layers;
    for (double& x : z[k]) x = k == 0 ? 0 : (x - mean) / (std::sqrt(variance) + kEps);
  }
  return z;
}

LayerFlags ChooseDrafters(const ScaleTable& z, int64_t count) {
  const int64_t scales = static_cast<int64_t>(z.size()), layers = static_cast<int64_t>(z.at(0).size());
  NS_CHECK(count >= 0 && count <= (scales - 1) * layers, "{} drafters of {} x {}", count, scales, layers);
  std::vector<int64_t> order((scales - 1) * layers);
  std::iota(order.begin(), order.end(), layers);  // scale * layers + layer, from scale 1
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return z[a / layers][a % layers] < z[b / layers][b % layers];
  });
  LayerFlags drafters(scales, std::vector<bool>(layers, false));
  for (int64_t i = 0; i < count; ++i) drafters[order[i] / layers][order[i] % layers] = true;
  return drafters;
}

int64_t DefaultDrafterCount(int64_t scales, int64_t layers) {
  return std::max<int64_t>(1, std::lround(static_cast<double>(layers * (scales - 1)) / 16.0));
}

double Overlap(const LayerFlags& a, const LayerFlags& b) {
  int64_t both = 0, all = 0;
  for (size_t k = 0; k < b.size(); ++k) {
    for (size_t l = 0; l < b[k].size(); ++l) {
      all += b[k][l];
      both += a[k][l] && b[k][l];
    }
  }
  return all == 0 ? 1 : static_cast<double>(both) / static_cast<double>(all);
}

std::vector<StabilityPoint> Stability(std::span<const AttentionTables> prompts, RoleMetric metric,
                                      int64_t count, uint64_t seed) {
  const auto drafters = [&](size_t n) {
    return ChooseDrafters(ZScores(MetricOf(prompts.first(n), metric, seed)), count);
  };
  const LayerFlags final = drafters(prompts.size());
  std::vector<StabilityPoint> points;
  for (int64_t n : kPrefixes) {
    if (n >= static_cast<int64_t>(prompts.size())) break;
    points.push_back({.prompts = n, .overlap = Overlap(drafters(static_cast<size_t>(n)), final)});
  }
  return points;
}

}  // namespace nextscale
