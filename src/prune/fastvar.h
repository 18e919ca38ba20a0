// FastVAR's published setting (csguoh/FastVAR for Infinity-2B at 1M) and two of ours, for any schedule:
// counted from its end.
#pragma once

#include <string_view>

#include "prune/pruner.h"

namespace nextscale {

// "fastvar", "fastvar-mild", "fastvar-fast". Errors: CallError that lists the names, or for a schedule of
// fewer scales than the preset touches.
StatusOr<PruneOptions> FastVarPreset(std::string_view name, int64_t scales);

}  // namespace nextscale
