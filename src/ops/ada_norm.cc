// Checks and dispatch of the adaptive norm.
#include "ops/ada_norm.h"

#include "ops/elements.h"
#include "ops/norm_internal.h"

namespace nextscale {

bool AdaNorm(const AdaNormArgs& args, const OpContext& ctx) {
  NS_CHECK(args.x.shape().rank() == 2 && args.x.shape() == args.y.shape(), "rows {} to {}",
           ToString(args.x.shape()), ToString(args.y.shape()));
  NS_CHECK(args.x.dtype() == DType::kF32 && IsF32OrBf16(args.y.dtype()), "{} to {}", Name(args.x.dtype()),
           Name(args.y.dtype()));
  NS_CHECK(args.rows_per_stream > 0 && args.x.dim(0) % args.rows_per_stream == 0, "{} rows, {} a stream",
           args.x.dim(0), args.rows_per_stream);
  NS_CHECK(args.scale_BC && args.shift_BC);
  const ProfileScope scope(ctx.profiler, "ada_norm");
  return ctx.backend == Backend::kReference ? norm::AdaNormReference(args) : norm::AdaNormFast(args);
}

}  // namespace nextscale
