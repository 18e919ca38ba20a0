// A small plan with something in every field.
#pragma once

#include "calibration/plan.h"

namespace nextscale {

inline Plan SamplePlan() {
  const ScaleTable table = {{1, 1}, {0.25, 0.125}, {0.1, 1.0 / 3}};
  return {.model = std::string(60, '0') + "cafe",
          .depth = 2,
          .schedule = {{1, 1}, {2, 2}, {4, 6}},
          .top = 8,
          .refiner_start = 600,
          .window = 9,
          .pooling = Pooling::kMax,
          .metric = RoleMetric::kTopK,
          .prompts = {"a \"red\" apple", "日本"},
          .seed = 18446744073709551615u,
          .current = table,
          .top_ratio = table,
          .asi = table,
          .z = {{0, 0}, {1, -1}, {-1, 1}},
          .drafters = {{false, false}, {false, true}, {true, false}},
          .stability = {{.prompts = 1, .overlap = 0.5}}};
}

}  // namespace nextscale
