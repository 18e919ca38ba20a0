// The definition of the adaptive norm (oracle/var_infinity.py, ada_norm), sums in f64.
#include "ops/elements.h"
#include "ops/norm_internal.h"

namespace nextscale::norm {

bool AdaNormReference(const AdaNormArgs& args) {
  const int64_t C = args.x.dim(1);
  bool finite = true;
  for (int64_t r = 0; r < args.y.dim(0); ++r) {
    const float* row = args.x.data<float>() + RowOf(args.rows, r) * C;
    const int64_t stream = r / args.rows_per_stream;
    const float* scale = args.scale_BC + stream * args.stream_stride;
    const float* shift = args.shift_BC + stream * args.stream_stride;
    const RowMoments m = MomentsOf(row, C, args.eps);
    finite = finite && m.finite;
    for (int64_t c = 0; c < C; ++c)
      Put(args.y, r * C + c, static_cast<float>((row[c] - m.mean) * m.inverse * (1.0 + scale[c]) + shift[c]));
  }
  return finite;
}

}  // namespace nextscale::norm
