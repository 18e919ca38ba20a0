// FastVAR's token scores (fastvar.md, 1): how far each token is from the mean of its map.
#pragma once

#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

// score of row i of a stream = sum_c (x_ic - mean_c)^2, mean over the stream's rows. x [B*L, C] f32, scores
// [B*L]. A stream's scores depend on its rows only, and not on the number of threads. Returns false if a
// score is not finite.
[[nodiscard]] bool TokenDeviation(ConstView x, int64_t rows_per_stream, std::span<float> scores,
                                  const OpContext& ctx);

}  // namespace nextscale
