// Checks and dispatch of the row normalisations.
#include "ops/norm.h"

#include "ops/elements.h"
#include "ops/norm_internal.h"

namespace nextscale {
namespace {

void CheckRows(ConstView x, View y) {
  NS_CHECK(x.shape().rank() == 2 && x.shape() == y.shape(), "rows {} to {}", ToString(x.shape()),
           ToString(y.shape()));
  NS_CHECK(x.dtype() == DType::kF32 && IsF32OrBf16(y.dtype()), "{} to {}", Name(x.dtype()), Name(y.dtype()));
}

}  // namespace

bool LayerNorm(ConstView x, View y, const float* weight, const float* bias, float eps, const OpContext& ctx) {
  CheckRows(x, y);
  NS_CHECK(weight && bias);
  const ProfileScope scope(ctx.profiler, "norm");
  return ctx.backend == Backend::kReference ? norm::LayerNormReference(x, y, weight, bias, eps)
                                            : norm::LayerNormFast(x, y, weight, bias, eps);
}

bool RmsNorm(ConstView x, View y, const float* weight, float eps, const OpContext& ctx) {
  CheckRows(x, y);
  NS_CHECK(weight);
  const ProfileScope scope(ctx.profiler, "norm");
  return ctx.backend == Backend::kReference ? norm::RmsNormReference(x, y, weight, eps)
                                            : norm::RmsNormFast(x, y, weight, eps);
}

}  // namespace nextscale
