// FastVAR's restoration (fastvar.md, 3): a pruned branch's outputs, with a smaller map's in the places that
// were left out, added to the residual stream.
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

struct RestoreArgs {
  View x;                         // [B*n, C] f32, n = map.tokens()
  ConstView fresh;                // [B*m, C] outputs of the rows that ran, f32 or bf16
  std::span<const int32_t> rows;  // [B*m] which rows of x those are, ascending
  ConstView stored;               // [B*s, C] outputs at the source scale, s = source.tokens(); type of fresh
  MapSize map, source;
};

// x[r] += fresh, where r is among the rows; elsewhere the mean of the stored tokens that ResizeArea
// (adaptive average pooling) gives that place. One pass; sums in f32.
void RestoreInto(const RestoreArgs& args, const OpContext& ctx);

}  // namespace nextscale
