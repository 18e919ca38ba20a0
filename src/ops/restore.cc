// Checks and dispatch of the restoration.
#include "ops/restore.h"

#include "ops/elements.h"
#include "ops/restore_internal.h"

namespace nextscale {

void RestoreInto(const RestoreArgs& a, const OpContext& ctx) {
  const int64_t n = a.map.tokens(), s = a.source.tokens();
  NS_CHECK(n > 0 && s > 0 && a.x.shape().rank() == 2 && a.x.dim(0) % n == 0, "x {}, maps of {} and {}",
           ToString(a.x.shape()), n, s);
  const Shape stored{a.x.dim(0) / n * s, a.x.dim(1)}, fresh{static_cast<int64_t>(a.rows.size()), a.x.dim(1)};
  NS_CHECK(a.stored.shape() == stored && a.fresh.shape() == fresh,
           "stored {}, expected {}; fresh {}, expected {}", ToString(a.stored.shape()), ToString(stored),
           ToString(a.fresh.shape()), ToString(fresh));
  NS_CHECK(a.x.dtype() == DType::kF32 && IsF32OrBf16(a.fresh.dtype()) && a.stored.dtype() == a.fresh.dtype(),
           "x {}, fresh {}, stored {}", Name(a.x.dtype()), Name(a.fresh.dtype()), Name(a.stored.dtype()));
  for (size_t i = 0; i < a.rows.size(); ++i) {
    NS_CHECK(a.rows[i] >= 0 && a.rows[i] < a.x.dim(0) && (i == 0 || a.rows[i - 1] < a.rows[i]),
             "row {} of {}", a.rows[i], a.x.dim(0));
  }
  const ProfileScope scope(ctx.profiler, "restore");
  ctx.backend == Backend::kReference ? restore::Reference(a) : restore::Fast(a);
}

}  // namespace nextscale
