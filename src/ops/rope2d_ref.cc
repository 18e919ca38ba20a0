// The definition of the qkv split (oracle/var_infinity.py, SelfAttention.forward and rotate), in f64.
#include <algorithm>
#include <cmath>

#include "ops/elements.h"
#include "ops/rope2d_internal.h"

namespace nextscale::rope2d {
namespace {

// to[0, D) = rotate(from[0, D) / |from| * scale) by row l of the table.
void NormalizeAndRotate(const QkvSplitArgs& args, int64_t from, double scale, int64_t l, View to,
                        int64_t to_at) {
  double squares = 0;
  for (int64_t i = 0; i < args.D; ++i) squares += std::pow(Get(args.qkv, from + i), 2);
  const double factor = scale / std::max(std::sqrt(squares), 1e-12);
  for (int64_t i = 0; i < args.D; i += 2) {
    const double a = Get(args.qkv, from + i) * factor, b = Get(args.qkv, from + i + 1) * factor;
    const double c = args.rope->cos.data<float>()[(l * args.D + i) / 2];
    const double s = args.rope->sin.data<float>()[(l * args.D + i) / 2];
    Put(to, to_at + i, static_cast<float>(c * a - s * b));
    Put(to, to_at + i + 1, static_cast<float>(s * a + c * b));
  }
}

}  // namespace

void SplitQkvReference(const QkvSplitArgs& args) {
  const int64_t H = args.H, D = args.D, C = H * D;
  for (int64_t r = 0; r < args.B * args.L; ++r) {
    const int64_t b = r / args.L, l = r % args.L, place = PlaceOf(args, r);
    for (int64_t h = 0; h < H; ++h) {
      const int64_t from = r * 3 * C + h * D, head = ((b * H + h) * args.L + l) * D;
      NormalizeAndRotate(args, from, args.q_scale_H[h], place, args.q, r * C + h * D);
      NormalizeAndRotate(args, from + C, 1.0, place, args.k, head);
      for (int64_t i = 0; i < D; ++i) Put(args.v, head + i, Get(args.qkv, from + 2 * C + i));
    }
  }
}

}  // namespace nextscale::rope2d
