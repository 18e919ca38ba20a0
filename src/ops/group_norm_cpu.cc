// Work on runs of pixels by Highway: normalise and swish, measure, add and store. Vectors lie along the
// channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/group_norm_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>

#include "ops/group_norm_internal.h"
#include "ops/sigmoid-inl.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {
namespace {

template <bool kSilu, class X, class Y>
void NormRun(const ChannelAffine& affine, const X* x, int64_t pixels, Y* y) {
  const int64_t C = static_cast<int64_t>(affine.scale.size());
  const float* mean = affine.mean.data();
  const float* scale = affine.scale.data();
  const float* shift = affine.shift.data();
  for (int64_t p = 0; p < pixels; ++p, x += C, y += C) {
    ForVectors(C, [&](int64_t c, auto part) HWY_ATTR {
      const FloatVec centred = hn::Sub(Load(x + c, part), Load(mean + c, part));
      const FloatVec z = hn::MulAdd(centred, Load(scale + c, part), Load(shift + c, part));
      Store(kSilu ? SiluOf(z) : z, y + c, part);
    });
  }
}

template <class X, class Y>
void NormRunSiluOrNot(const ChannelAffine& affine, bool silu, const void* x, int64_t pixels, void* y) {
  if (silu) {
    NormRun<true>(affine, static_cast<const X*>(x), pixels, static_cast<Y*>(y));
  } else {
    NormRun<false>(affine, static_cast<const X*>(x), pixels, static_cast<Y*>(y));
  }
}

void NormPixels(const ChannelAffine& affine, bool silu, const void* x, DType x_type, int64_t pixels, void* y,
                DType y_type) {
  if (x_type == DType::kF32) {
    y_type == DType::kF32 ? NormRunSiluOrNot<float, float>(affine, silu, x, pixels, y)
                          : NormRunSiluOrNot<float, bf16_t>(affine, silu, x, pixels, y);
  } else {
    y_type == DType::kF32 ? NormRunSiluOrNot<bf16_t, float>(affine, silu, x, pixels, y)
                          : NormRunSiluOrNot<bf16_t, bf16_t>(affine, silu, x, pixels, y);
  }
}

// out[c] += x[p, c] - from[c], or its square, over all pixels of the block.
template <bool kSquare>
HWY_INLINE void SumDifferences(const PixelBlock& block, const float* from, float* out) {
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t p = 0; p < block.pixels; ++p) {
      const float* x = block.data + r * block.row_stride + p * block.channels;
      ForVectors(block.channels, [&](int64_t c, auto part) HWY_ATTR {
        const FloatVec difference = hn::Sub(Load(x + c, part), Load(from + c, part));
        const FloatVec term = kSquare ? hn::Mul(difference, difference) : difference;
        Store(hn::Add(Load(out + c, part), term), out + c, part);
      });
    }
  }
}

// The mean, too, from differences to the first pixel: on a flat picture a plain sum loses the digits that the
// variance is made of.
void MeasurePixels(const PixelBlock& block, float* mean, float* m2) {
  const float inverse = 1.0f / static_cast<float>(block.rows * block.pixels);
  std::fill_n(mean, block.channels, 0.0f);
  std::fill_n(m2, block.channels, 0.0f);
  SumDifferences<false>(block, block.data, mean);
  for (int64_t c = 0; c < block.channels; ++c) mean[c] = block.data[c] + mean[c] * inverse;
  SumDifferences<true>(block, mean, m2);
}

// `sum` becomes what y holds: rounded if that is bf16.
template <class Y>
void StoreRun(float* sum, bool accumulate, int64_t n, Y* y) {
  ForVectors(n, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec v = Load(sum + i, part);
    Store(accumulate ? hn::Add(v, Load(y + i, part)) : v, y + i, part);
    Store(Load(y + i, part), sum + i, part);
  });
}

void StorePixels(float* sum, bool accumulate, int64_t n, void* y, DType y_type) {
  y_type == DType::kF32 ? StoreRun(sum, accumulate, n, static_cast<float*>(y))
                        : StoreRun(sum, accumulate, n, static_cast<bf16_t*>(y));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale {

HWY_EXPORT(NormPixels);
HWY_EXPORT(MeasurePixels);
HWY_EXPORT(StorePixels);

void NormPixels(const ChannelAffine& affine, bool silu, const void* x, DType x_type, int64_t pixels, void* y,
                DType y_type) {
  HWY_DYNAMIC_DISPATCH(NormPixels)(affine, silu, x, x_type, pixels, y, y_type);
}
void MeasurePixels(const PixelBlock& block, float* mean, float* m2) {
  HWY_DYNAMIC_DISPATCH(MeasurePixels)(block, mean, m2);
}
void StorePixels(float* sum, bool accumulate, int64_t n, void* y, DType y_type) {
  HWY_DYNAMIC_DISPATCH(StorePixels)(sum, accumulate, n, y, y_type);
}

}  // namespace nextscale
#endif  // HWY_ONCE
