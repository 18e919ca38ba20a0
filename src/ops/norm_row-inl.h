// Normalisation of one row by Highway: the statistics in two passes over a row that the first one brings into
// the nearest cache, then y. For files that include this after foreach_target.h.
#if defined(NEXTSCALE_OPS_NORM_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NEXTSCALE_OPS_NORM_ROW_INL_H_
#undef NEXTSCALE_OPS_NORM_ROW_INL_H_
#else
#define NEXTSCALE_OPS_NORM_ROW_INL_H_
#endif

#include <cmath>

#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

// y = (x - mean) / sqrt(variance + eps) * scale + shift, with 1 + scale in its place for kOnePlus. False if
// the variance is not finite: one NaN or infinity in x makes it so.
template <bool kOnePlus, class Y>
HWY_INLINE bool NormRow(const float* x, int64_t C, const float* scale, const float* shift, float eps, Y* y) {
  const FloatTag d;
  const float mean =
      SumVectors(C, [&](int64_t i, auto part) HWY_ATTR { return Load(x + i, part); }) / static_cast<float>(C);
  const FloatVec m = hn::Set(d, mean);
  const float squares = SumVectors(C, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec difference = hn::Sub(Load(x + i, part), m);
    return hn::Mul(difference, difference);
  });
  const FloatVec inverse = hn::Set(d, 1.0f / std::sqrt(squares / static_cast<float>(C) + eps));
  ForVectors(C, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec z = hn::Mul(hn::Sub(Load(x + i, part), m), inverse);
    const FloatVec own = Load(scale + i, part), b = Load(shift + i, part);
    Store(hn::MulAdd(z, kOnePlus ? hn::Add(own, hn::Set(d, 1.0f)) : own, b), y + i, part);
  });
  return std::isfinite(squares);
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#endif  // NEXTSCALE_OPS_NORM_ROW_INL_H_
