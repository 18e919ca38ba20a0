// Checks and dispatch of the token scores.
#include "ops/token_deviation.h"

#include <algorithm>
#include <cmath>

#include "ops/token_deviation_internal.h"

namespace nextscale {

bool TokenDeviation(ConstView x, int64_t rows_per_stream, std::span<float> scores, const OpContext& ctx) {
  NS_CHECK(x.shape().rank() == 2 && x.dtype() == DType::kF32, "rows {} {}", Name(x.dtype()),
           ToString(x.shape()));
  NS_CHECK(rows_per_stream > 0 && x.dim(0) % rows_per_stream == 0, "{} rows, {} a stream", x.dim(0),
           rows_per_stream);
  NS_CHECK_EQ(static_cast<int64_t>(scores.size()), x.dim(0));
  const ProfileScope scope(ctx.profiler, "token_deviation");
  ctx.backend == Backend::kReference ? token_deviation::Reference(x, rows_per_stream, scores)
                                     : token_deviation::Fast(x, rows_per_stream, scores, ctx);
  return std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); });
}

}  // namespace nextscale
