// The qkv split by Highway: one pass over a row's heads; rows are shared out among threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rope2d_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cmath>

#include "ops/chunks.h"
#include "ops/rope2d_internal.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

// A token's row of the table, spread over the D elements of a head: cos twice, then -sin, sin. So the
// rotation is cos * (a, b) + sin * (b, a). All heads of the row share it.
HWY_INLINE void SpreadTable(const float* cos, const float* sin, int64_t D, float* cos_D, float* sin_D) {
  for (int64_t i = 0; i < D / 2; ++i) {
    cos_D[2 * i] = cos_D[2 * i + 1] = cos[i];
    sin_D[2 * i] = -sin[i];
    sin_D[2 * i + 1] = sin[i];
  }
}

// (b, a) of the pairs (a, b) at v + i, of which ab holds a vector already.
template <class T>
HWY_INLINE FloatVec Swapped(FloatVec ab, const T* v, int64_t i) {
#if HWY_TARGET == HWY_SCALAR
  return Load(v + (i ^ 1), Whole());
#else
  return hn::Shuffle2301(ab);
#endif
}

template <class T>
HWY_INLINE void NormalizeAndRotate(const T* from, int64_t D, float scale, const float* cos_D,
                                   const float* sin_D, T* to) {
  const float squares = SumVectors(D, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec v = Load(from + i, part);
    return hn::Mul(v, v);
  });
  const FloatVec factor = hn::Set(FloatTag(), scale / std::max(std::sqrt(squares), 1e-12f));
  ForVectors(D, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec ab = Load(from + i, part), ba = Swapped(ab, from, i);
    const FloatVec turned = hn::MulAdd(ab, Load(cos_D + i, part), hn::Mul(ba, Load(sin_D + i, part)));
    Store(hn::Mul(turned, factor), to + i, part);
  });
}

template <class T>
void SplitRows(const QkvSplitArgs& args, int64_t begin, int64_t end, float* table) {
  const int64_t H = args.H, D = args.D, C = H * D, L = args.L;
  float* cos_D = table;
  float* sin_D = table + D;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t l = r % L, place = rope2d::PlaceOf(args, r);
    SpreadTable(args.rope->cos.data<float>() + place * (D / 2),
                args.rope->sin.data<float>() + place * (D / 2), D, cos_D, sin_D);
    const T* from = args.qkv.data<T>() + r * 3 * C;
    T* q = args.q.data<T>() + r * C;
    T* k = args.k.data<T>() + (r / L * H * L + l) * D;
    T* v = args.v.data<T>() + (r / L * H * L + l) * D;
    for (int64_t h = 0; h < H; ++h, from += D, q += D, k += L * D, v += L * D) {
      NormalizeAndRotate(from, D, args.q_scale_H[h], cos_D, sin_D, q);
      NormalizeAndRotate(from + C, D, 1.0f, cos_D, sin_D, k);
      std::copy_n(from + 2 * C, D, v);
    }
  }
}

void SplitChunk(const QkvSplitArgs& args, int64_t begin, int64_t end, float* table) {
  args.qkv.dtype() == DType::kF32 ? SplitRows<float>(args, begin, end, table)
                                  : SplitRows<bf16_t>(args, begin, end, table);
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::rope2d {

HWY_EXPORT(SplitChunk);

void SplitQkvFast(const QkvSplitArgs& args, const OpContext& ctx) {
  ForRowChunks(args.B * args.L, 3 * args.H * args.D, [&](int64_t begin, int64_t end, int thread) {
    auto* table = reinterpret_cast<float*>(ctx.scratch.ForThread(thread, 2 * args.D * sizeof(float)));
    HWY_DYNAMIC_DISPATCH(SplitChunk)(args, begin, end, table);
  });
}

}  // namespace nextscale::rope2d
#endif  // HWY_ONCE
