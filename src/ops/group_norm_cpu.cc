// Work on runs of pixels by Highway: normalise and swish, measure, add and store. Vectors lie along the
// channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/group_norm_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "ops/attention_exp-inl.h"
#include "ops/group_norm_internal.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using D16 = hn::Rebind<uint16_t, D>;
using D32 = hn::RebindToUnsigned<D>;
constexpr int64_t kMaxLanes = 16;

HWY_INLINE V LoadF32(D d, const float* p) { return hn::LoadU(d, p); }
HWY_INLINE V LoadF32(D d, const bf16_t* p) {
  const auto half = hn::LoadU(D16(), reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(D32(), half)));
}

// As in memory after Store to the type of the pointer.
HWY_INLINE V Rounded(V v, const float*) { return v; }
HWY_INLINE V Rounded(V v, const bf16_t*) {
  const D d;
  const D32 d32;
  const auto bits =
      hn::BitCast(d32, hn::IfThenElse(hn::IsNaN(v), hn::BitCast(d, hn::Set(d32, 0x7fc00000u)), v));
  const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  const auto up = hn::Add(bits, hn::Add(even, hn::Set(d32, 0x7fff)));
  return hn::BitCast(d, hn::And(up, hn::Set(d32, 0xffff0000u)));
}
HWY_INLINE void StoreRounded(D d, V v, float* p) { hn::StoreU(v, d, p); }
HWY_INLINE void StoreRounded(D d, V v, bf16_t* p) {
  const auto half = hn::TruncateTo(D16(), hn::ShiftRight<16>(hn::BitCast(D32(), v)));
  hn::StoreU(half, D16(), reinterpret_cast<uint16_t*>(p));
}

// Calls body(i) for whole vectors of [0, n), then once tail(i, n - i) for what is left.
template <class Body, class Tail>
HWY_INLINE void OverVectors(int64_t n, const Body& body, const Tail& tail) {
  const int64_t N = static_cast<int64_t>(hn::Lanes(D()));
  int64_t i = 0;
  for (; i + N <= n; i += N) body(i);
  if (i < n) tail(i, n - i);
}

// Up to a vector's length of T, padded with zeros.
template <class T>
struct Padded {
  HWY_ALIGN T values[kMaxLanes] = {};
  Padded() = default;
  Padded(const T* from, int64_t n) { std::memcpy(static_cast<void*>(values), from, n * sizeof(T)); }
};

// x * sigmoid(x), with exp of what is never positive: no overflow at either end.
HWY_INLINE V SiluOf(D d, V z) {
  const V one = hn::Set(d, 1.0f);
  const V e = ExpNonPositive(d, hn::Neg(hn::Abs(z)));
  const V numerator = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), hn::Mul(z, e), z);
  return hn::Div(numerator, hn::Add(one, e));
}

template <bool kSilu, class X, class Y>
void NormRun(const ChannelAffine& affine, const X* x, int64_t pixels, Y* y) {
  const D d;
  const int64_t C = static_cast<int64_t>(affine.scale.size());
  const float* mean = affine.mean.data();
  const float* scale = affine.scale.data();
  const float* shift = affine.shift.data();
  const auto norm = [&](V v, const float* m, const float* a, const float* b) HWY_ATTR {
    const V z = hn::MulAdd(hn::Sub(v, hn::LoadU(d, m)), hn::LoadU(d, a), hn::LoadU(d, b));
    return Rounded(kSilu ? SiluOf(d, z) : z, y);
  };
  for (int64_t p = 0; p < pixels; ++p, x += C, y += C) {
    OverVectors(
        C,
        [&](int64_t c)
            HWY_ATTR { StoreRounded(d, norm(LoadF32(d, x + c), mean + c, scale + c, shift + c), y + c); },
        [&](int64_t c, int64_t n) HWY_ATTR {
          const Padded<X> tail(x + c, n);
          const Padded<float> m(mean + c, n), a(scale + c, n), b(shift + c, n);
          Padded<Y> out;
          StoreRounded(d, norm(LoadF32(d, tail.values), m.values, a.values, b.values), out.values);
          std::memcpy(static_cast<void*>(y + c), out.values, n * sizeof(Y));
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
  const D d;
  const auto term = [&](const float* x, const float* f) HWY_ATTR {
    const V difference = hn::Sub(hn::LoadU(d, x), hn::LoadU(d, f));
    return kSquare ? hn::Mul(difference, difference) : difference;
  };
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t p = 0; p < block.pixels; ++p) {
      const float* x = block.data + r * block.row_stride + p * block.channels;
      OverVectors(
          block.channels,
          [&](int64_t c)
              HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, out + c), term(x + c, from + c)), d, out + c); },
          [&](int64_t c, int64_t n) HWY_ATTR {
            Padded<float> sums;
            hn::StoreU(term(Padded<float>(x + c, n).values, Padded<float>(from + c, n).values), d,
                       sums.values);
            for (int64_t i = 0; i < n; ++i) out[c + i] += sums.values[i];
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

template <class Y>
void StoreRun(float* sum, bool accumulate, int64_t n, Y* y) {
  const D d;
  const auto store = [&](float* s, Y* to) HWY_ATTR {
    V v = hn::LoadU(d, s);
    if (accumulate) v = hn::Add(v, LoadF32(d, to));
    v = Rounded(v, to);
    StoreRounded(d, v, to);
    hn::StoreU(v, d, s);
  };
  OverVectors(
      n, [&](int64_t i) HWY_ATTR { store(sum + i, y + i); },
      [&](int64_t i, int64_t left) HWY_ATTR {
        Padded<float> s(sum + i, left);
        Padded<Y> to(y + i, left);
        store(s.values, to.values);
        std::memcpy(sum + i, s.values, left * sizeof(float));
        std::memcpy(static_cast<void*>(y + i), to.values, left * sizeof(Y));
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
