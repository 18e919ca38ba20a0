// From what was measured over prompts to a plan (scalekv.md, "Attention Selectivity Index").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/attention_statistics.h"
#include "calibration/plan.h"

namespace nextscale {

struct MeasuredPrompt {
  std::string prompt;
  AttentionTables tables;
  HeadTables heads;  // empty unless measured
};

struct PlanSettings {
  int64_t top = 64;                                     // K' of the measurement
  std::optional<int64_t> drafter_count;                 // default: DefaultDrafterCount
  std::optional<int64_t> refiner_start, decay, window;  // as Plan's
  Pooling pooling = Pooling::kAverage;
  RoleMetric metric = RoleMetric::kAsi;
  uint64_t seed = 0;
};

// At least one prompt; all of the schedule's scales and of the same layers (NS_CHECK); no more drafters than
// there are pairs of a layer and a scale after the first.
Plan MakePlan(const std::string& model, const std::vector<MapSize>& schedule,
              std::span<const MeasuredPrompt> prompts, const PlanSettings& settings);

// The prompts in `sets` disjoint sets of equal size, in order (a rest is left out): |A and B| / N_d of the
// drafters of each pair of sets.
std::vector<double> OverlapsOfSets(std::span<const MeasuredPrompt> prompts, int64_t sets, RoleMetric metric,
                                   int64_t drafter_count, uint64_t seed);

}  // namespace nextscale
