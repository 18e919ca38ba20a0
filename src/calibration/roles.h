// From attention statistics to roles: the Attention Selectivity Index, its Z within each scale, drafters, and
// how stable they are over prompts (scalekv.md; equations 2 and 3 of the paper).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kv/budget.h"

namespace nextscale {

// [K][L]: scales x layers.
using ScaleTable = std::vector<std::vector<double>>;

// What drafters are chosen by. The paper's is kAsi; the others are its ablations.
enum class RoleMetric { kAsi, kTopK, kCurrent, kRandom };
// "asi", "top-k", "current", "random". Errors: CallError that lists the names.
StatusOr<RoleMetric> ParseRoleMetric(std::string_view name);
std::string_view Name(RoleMetric metric);

// One prompt's, or means over prompts.
struct AttentionTables {
  ScaleTable current;  // share of attention within the current map
  ScaleTable top;      // share of the K' most attended keys of the history
};

// current * top.
ScaleTable SelectivityIndex(const AttentionTables& tables);
// Mean over prompts of each table's entries.
ScaleTable MeanOf(std::span<const ScaleTable> tables);
AttentionTables MeanOf(std::span<const AttentionTables> prompts);
// The quantity that a metric ranks: for kAsi the mean over prompts of each one's index; for kRandom numbers
// in [0, 1) of Philox, key `seed`, counter (scale, layer, 0, 0).
ScaleTable MetricOf(std::span<const AttentionTables> prompts, RoleMetric metric, uint64_t seed);

// (metric - mean) / (deviation + 1e-6) within each scale, the deviation of the population. Scale 0 has no
// history and is not ranked: 0.
ScaleTable ZScores(const ScaleTable& metric);

// The `count` pairs (scale, layer), scale 0 left out, with the smallest Z; equal Z: the lower scale, then the
// lower layer. count <= (K - 1) * L.
LayerFlags ChooseDrafters(const ScaleTable& z, int64_t count);
// round(L * (K - 1) / 16), at least 1: the paper's only setting, in proportion.
int64_t DefaultDrafterCount(int64_t scales, int64_t layers);
// Drafters that both have, of those of `b`.
double Overlap(const LayerFlags& a, const LayerFlags& b);

struct StabilityPoint {
  int64_t prompts = 0;
  double overlap = 0;  // of the drafters of the first `prompts` prompts, with those of all
};
// For the first 1, 2, 5, 10, 20, 50, 128 prompts, as far as there are more.
std::vector<StabilityPoint> Stability(std::span<const AttentionTables> prompts, RoleMetric metric,
                                      int64_t count, uint64_t seed);

}  // namespace nextscale
