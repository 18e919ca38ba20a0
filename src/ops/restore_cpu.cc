// The restoration by Highway; rows are shared out among threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/restore_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>

#include "ops/chunks.h"
#include "ops/restore_internal.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

using restore::AreaSpan;
using restore::Span;

template <class T>
HWY_INLINE void AddStored(const T* from, int64_t C, float* x) {
  ForVectors(C, [&](int64_t i, auto part)
                    HWY_ATTR { Store(hn::Add(Load(x + i, part), Load(from + i, part)), x + i, part); });
}

// x += mean of the stored rows (ys, xs): four at most when the map is the larger one.
template <class T>
HWY_INLINE void AddAreaMean(const T* stored, int64_t width, Span ys, Span xs, int64_t C, float* x) {
  const auto count = static_cast<float>((ys.end - ys.begin) * (xs.end - xs.begin));
  if (count == 1) return AddStored(stored + (ys.begin * width + xs.begin) * C, C, x);
  const FloatVec share = hn::Set(FloatTag(), 1.0f / count);
  ForVectors(C, [&](int64_t i, auto part) HWY_ATTR {
    FloatVec sum = hn::Zero(FloatTag());
    for (int64_t y = ys.begin; y < ys.end; ++y) {
      for (int64_t column = xs.begin; column < xs.end; ++column)
        sum = hn::Add(sum, Load(stored + (y * width + column) * C + i, part));
    }
    Store(hn::MulAdd(sum, share, Load(x + i, part)), x + i, part);
  });
}

template <class T>
void RestoreRows(const RestoreArgs& a, int64_t begin, int64_t end) {
  const int64_t C = a.x.dim(1), n = a.map.tokens(), s = a.source.tokens();
  float* x = a.x.data<float>() + begin * C;
  int64_t next = std::lower_bound(a.rows.begin(), a.rows.end(), begin) - a.rows.begin();
  for (int64_t row = begin; row < end; ++row, x += C) {
    if (next < static_cast<int64_t>(a.rows.size()) && a.rows[next] == row) {
      AddStored(a.fresh.data<T>() + next++ * C, C, x);
      continue;
    }
    const int64_t place = row % n;
    AddAreaMean(a.stored.data<T>() + row / n * s * C, a.source.w,
                AreaSpan(place / a.map.w, a.source.h, a.map.h),
                AreaSpan(place % a.map.w, a.source.w, a.map.w), C, x);
  }
}

void RestoreChunk(const RestoreArgs& a, int64_t begin, int64_t end) {
  a.fresh.dtype() == DType::kF32 ? RestoreRows<float>(a, begin, end) : RestoreRows<bf16_t>(a, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::restore {

HWY_EXPORT(RestoreChunk);

void Fast(const RestoreArgs& args) {
  ForRowChunks(args.x.dim(0), args.x.dim(1), [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(RestoreChunk)(args, begin, end);
  });
}

}  // namespace nextscale::restore
#endif  // HWY_ONCE
