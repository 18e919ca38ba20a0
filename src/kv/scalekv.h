// ScaleKV, the paper's selection: the centres of a grid of patches are the observation window (scalekv.md,
// "Token selection", step 1).
#pragma once

#include <memory>

#include "kv/scored_policy.h"

namespace nextscale {

// The centres of grid x grid patches of a map (fewer along an edge shorter than the grid), row by row: places
// y * w + x.
std::vector<int32_t> PatchCentres(MapSize map, int64_t grid);
// The side of the largest square at most n.
int64_t SquareSide(int64_t n);

std::unique_ptr<KvPolicy> MakeScaleKv(const ScoredPolicyArgs& args);

}  // namespace nextscale
