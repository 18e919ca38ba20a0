#include "prune/fastvar.h"

#include <fmt/format.h>

#include <array>

namespace nextscale {
namespace {

// Shares left out of the last scales, the last one last.
struct Preset {
  std::string_view name;
  std::array<double, 4> left_out;
};
constexpr Preset kPresets[] = {
    {"fastvar", {0.4, 0.5, 1.0, 1.0}},       // as published
    {"fastvar-mild", {0.0, 0.0, 0.4, 0.5}},  // skips nothing
    {"fastvar-fast", {0.5, 1.0, 1.0, 1.0}},
};

}  // namespace

StatusOr<PruneOptions> FastVarPreset(std::string_view name, int64_t scales) {
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    const int64_t first = scales - static_cast<int64_t>(preset.left_out.size());
    if (first < 2)
      return CallError(fmt::format("--prune {}", name),
                       fmt::format("the schedule has {} scales only", scales),
                       "give --prune-ratios of its scales");
    PruneOptions options;
    for (size_t i = 0; i < preset.left_out.size(); ++i) {
      if (preset.left_out[i] > 0)
        options.ratios.push_back({first + static_cast<int64_t>(i), preset.left_out[i]});
    }
    return options;
  }
  return CallError(fmt::format("--prune {}", name), "unknown", "fastvar, fastvar-mild or fastvar-fast");
}

}  // namespace nextscale
