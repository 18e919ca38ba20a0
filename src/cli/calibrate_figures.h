// The pictures of `calibrate --figures`: attention maps, densities, roles and budgets, as SVG.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/attention_map.h"
#include "calibration/make_plan.h"

namespace nextscale {

struct CalibrationFigure {
  std::string name;  // of its file
  std::string svg;
};

// "roles.svg": ASI and Z by scale and layer, drafters ringed. "density.svg": how much more a token of the
// current map gets than any token, at small and at large scales (the paper's Fig. 6a). "budgets.svg": what
// each layer may hold at a budget of 10%. Errors: none of a plan that MakePlan made.
StatusOr<std::vector<CalibrationFigure>> PlanFigures(const Plan& plan,
                                                     std::span<const MeasuredPrompt> measured);

// The layers that are shown unless others are asked for: the one with the smallest mean Z, and the largest.
std::vector<int64_t> TypicalLayers(const Plan& plan);

// "attention-layer08.svg", one a layer, its heads side by side with the scales' boundaries.
StatusOr<std::vector<CalibrationFigure>> AttentionFigures(const Plan& plan, const AttentionMaps& maps);

}  // namespace nextscale
