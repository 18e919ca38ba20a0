// Checks and dispatch of the row normalisations.
#include "ops/norm.h"

#include "ops/elements.h"
#include "ops/norm_internal.h"

namespace nextscale {
void norm::CheckRows(ConstView x, View y, std::span<const int32_t> rows) {
  NS_CHECK(x.shape().rank() == 2 && y.shape().rank() == 2 && x.dim(1) == y.dim(1), "rows {} to {}",
           ToString(x.shape()), ToString(y.shape()));
  NS_CHECK(y.dim(0) == (rows.empty() ? x.dim(0) : static_cast<int64_t>(rows.size())), "{} of {} rows to {}",
           rows.size(), x.dim(0), y.dim(0));
  for (int32_t row : rows) NS_CHECK(row >= 0 && row < x.dim(0), "row {} of {}", row, x.dim(0));
  NS_CHECK(x.dtype() == DType::kF32 && IsF32OrBf16(y.dtype()), "{} to {}", Name(x.dtype()), Name(y.dtype()));
}

bool LayerNorm(const LayerNormArgs& args, const OpContext& ctx) {
  norm::CheckRows(args.x, args.y, args.rows);
  NS_CHECK(args.weight && args.bias);
  const ProfileScope scope(ctx.profiler, "norm");
  return ctx.backend == Backend::kReference ? norm::LayerNormReference(args) : norm::LayerNormFast(args);
}

bool RmsNorm(ConstView x, View y, const float* weight, float eps, const OpContext& ctx) {
  norm::CheckRows(x, y, {});
  NS_CHECK(weight);
  const ProfileScope scope(ctx.profiler, "norm");
  return ctx.backend == Backend::kReference ? norm::RmsNormReference(x, y, weight, eps)
                                            : norm::RmsNormFast(x, y, weight, eps);
}

}  // namespace nextscale
