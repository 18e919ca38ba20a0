// A ScaleKV plan: which layers are drafters at which scale, and what that was found from (scalekv.md,
// "Attention Selectivity Index"). It stores roles and parameters; budgets are computed from them for a
// request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "calibration/roles.h"
#include "kv/kv_options.h"
#include "ops/map_size.h"

namespace nextscale {

struct Plan {
  std::string model;  // ModelFingerprint
  int64_t depth = 0;
  std::vector<MapSize> schedule;
  // Parameters. What is not set follows from the budget of the request (KvOptions).
  int64_t top = 64;
  std::optional<int64_t> refiner_start, decay, window;  // tokens
  Pooling pooling = Pooling::kAverage;
  // What the roles were found from.
  RoleMetric metric = RoleMetric::kAsi;
  std::vector<std::string> prompts;
  uint64_t seed = 0;              // of the first prompt; prompt i has seed + i
  ScaleTable current, top_ratio;  // means over prompts
  ScaleTable asi, z;              // z of the metric
  LayerFlags drafters;            // [K][L]
  std::vector<StabilityPoint> stability;
  std::vector<ScaleTable> asi_heads;  // [K][L][H], or empty: budgets are the same for all heads of a layer

  int64_t scales() const { return static_cast<int64_t>(schedule.size()); }
  int64_t drafter_count() const;
};

// JSON, a key a line. Strings must be UTF-8 (NS_CHECK).
std::string PlanText(const Plan& plan);

// `name`: for messages. Errors: FileError naming the key that is missing, unknown or of another form; a plan
// is taken whole or not at all.
StatusOr<Plan> ParsePlan(std::string_view text, const std::string& name);

}  // namespace nextscale
