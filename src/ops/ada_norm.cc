// Checks and dispatch of the adaptive norm.
#include "ops/ada_norm.h"

#include "ops/norm_internal.h"

namespace nextscale {

bool AdaNorm(const AdaNormArgs& args, const OpContext& ctx) {
  norm::CheckRows(args.x, args.y, args.rows);
  NS_CHECK(args.rows_per_stream > 0 && args.y.dim(0) % args.rows_per_stream == 0, "{} rows, {} a stream",
           args.y.dim(0), args.rows_per_stream);
  NS_CHECK(args.scale_BC && args.shift_BC);
  const ProfileScope scope(ctx.profiler, "ada_norm");
  return ctx.backend == Backend::kReference ? norm::AdaNormReference(args) : norm::AdaNormFast(args);
}

}  // namespace nextscale
