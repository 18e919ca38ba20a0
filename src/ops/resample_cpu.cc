// Bilinear resizing by Highway. Outputs of neighbouring rows mostly read the same input rows: those are
// resized along x once, and every output row blends two of them. Channels are shared out among threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resample_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <utility>

#include "ops/resample_internal.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

using resample::BilinearAxis;
static_assert(kMaxLanes <= resample::kAxisPadding);

// An input row resized along x; `row` says which, -1 none yet.
struct WideRow {
  int64_t row;
  float* values;  // up to a whole number of vectors
};

HWY_INLINE void ResizeRow(const float* from, int64_t row, const BilinearAxis& xs, int64_t width,
                          WideRow& out) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  out.row = row;
  for (int64_t x = 0; x < width; x += static_cast<int64_t>(hn::Lanes(d))) {
    const FloatVec low = hn::GatherIndex(d, from, hn::LoadU(di, &xs.low[x]));
    const FloatVec high = hn::GatherIndex(d, from, hn::LoadU(di, &xs.high[x]));
    hn::StoreU(
        hn::MulAdd(hn::LoadU(d, &xs.weight_low[x]), low, hn::Mul(hn::LoadU(d, &xs.weight_high[x]), high)), d,
        out.values + x);
  }
}

// scratch: two rows of width + kAxisPadding
void BilinearChannel(const float* from, int64_t from_width, const BilinearAxis& ys, int64_t height,
                     const BilinearAxis& xs, int64_t width, float* scratch, float* to) {
  const FloatTag d;
  const auto stride = static_cast<int64_t>(xs.low.size());
  WideRow low{-1, scratch}, high{-1, scratch + stride};
  for (int64_t y = 0; y < height; ++y, to += width) {
    if (low.row != ys.low[y] && high.row == ys.low[y]) std::swap(low, high);
    if (low.row != ys.low[y]) ResizeRow(from + ys.low[y] * from_width, ys.low[y], xs, width, low);
    if (high.row != ys.high[y]) ResizeRow(from + ys.high[y] * from_width, ys.high[y], xs, width, high);
    const FloatVec of_low = hn::Set(d, ys.weight_low[y]), of_high = hn::Set(d, ys.weight_high[y]);
    ForVectors(width, [&](int64_t x, auto part) HWY_ATTR {
      const FloatVec a = hn::LoadU(d, low.values + x), b = hn::LoadU(d, high.values + x);
      Store(hn::MulAdd(of_low, a, hn::Mul(of_high, b)), to + x, part);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::resample {

HWY_EXPORT(BilinearChannel);

void BilinearFast(ConstView from, View to, const OpContext& ctx) {
  const int64_t h = from.dim(1), w = from.dim(2), H = to.dim(1), W = to.dim(2);
  const BilinearAxis ys = MakeBilinearAxis(h, H), xs = MakeBilinearAxis(w, W);
  ParallelFor(to.dim(0), [&](int64_t c, int thread) {
    auto* scratch =
        reinterpret_cast<float*>(ctx.scratch.ForThread(thread, 2 * (W + kAxisPadding) * sizeof(float)));
    HWY_DYNAMIC_DISPATCH(BilinearChannel)
    (from.data<float>() + c * h * w, w, ys, H, xs, W, scratch, to.data<float>() + c * H * W);
  });
}

}  // namespace nextscale::resample
#endif  // HWY_ONCE
