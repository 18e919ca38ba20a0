// From a tile's sums to y, by Highway: what oneDNN's post-ops would do, for any gate and any place in y (its
// blocked products write dense tiles only: a strided y makes oneDNN 2.6 fall back to a scalar loop).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul_store_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "ops/matmul_internal.h"
#include "ops/sigmoid-inl.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

template <Activation kActivation>
HWY_INLINE FloatVec Activated(FloatVec z) {
  if constexpr (kActivation == Activation::kGeluTanh) return GeluTanhOf(z);
  if constexpr (kActivation == Activation::kSilu) return SiluOf(z);
  return z;
}

template <Activation kActivation, class Y>
void StoreRows(const matmul::TileStore& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const float* sums = tile.sums + r * tile.columns;
    Y* y = reinterpret_cast<Y*>(tile.y) + r * tile.y_stride;
    ForVectors(tile.columns, [&](int64_t i, auto part) HWY_ATTR {
      FloatVec v = Load(sums + i, part);
      if (tile.bias) v = hn::Add(v, Load(tile.bias + i, part));
      v = Activated<kActivation>(v);
      if (tile.gate) v = hn::Mul(v, Load(tile.gate + i, part));
      if (tile.accumulate) v = hn::Add(v, Load(y + i, part));
      Store(v, y + i, part);
    });
  }
}

template <Activation kActivation>
void StoreTyped(const matmul::TileStore& tile) {
  tile.y_type == DType::kF32 ? StoreRows<kActivation, float>(tile) : StoreRows<kActivation, bf16_t>(tile);
}

void StoreAny(const matmul::TileStore& tile) {
  switch (tile.activation) {
    case Activation::kNone:
      return StoreTyped<Activation::kNone>(tile);
    case Activation::kGeluTanh:
      return StoreTyped<Activation::kGeluTanh>(tile);
    case Activation::kSilu:
      return StoreTyped<Activation::kSilu>(tile);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::matmul {

HWY_EXPORT(StoreAny);

void StoreTile(const TileStore& tile) { HWY_DYNAMIC_DISPATCH(StoreAny)(tile); }

}  // namespace nextscale::matmul
#endif  // HWY_ONCE
