// Row normalisations by Highway; rows are shared out among threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <atomic>

#include "ops/chunks.h"
#include "ops/norm_internal.h"
#include "ops/norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

template <class Y>
bool LayerNormRows(const LayerNormArgs& args, int64_t begin, int64_t end, Y* y) {
  const float* x = args.x.data<float>();
  const int64_t C = args.x.dim(1);
  bool finite = true;
  for (int64_t r = begin; r < end; ++r)
    finite &=
        NormRow<false>(x + norm::RowOf(args.rows, r) * C, C, args.weight, args.bias, args.eps, y + r * C);
  return finite;
}

template <class Y>
bool RmsNormRows(const float* x, Y* y, int64_t rows, int64_t C, const float* weight, float eps) {
  bool finite = true;
  for (int64_t r = 0; r < rows; ++r, x += C, y += C) {
    const float squares = SumVectors(C, [&](int64_t i, auto part) HWY_ATTR {
      const FloatVec v = Load(x + i, part);
      return hn::Mul(v, v);
    });
    const FloatVec inverse = hn::Set(FloatTag(), 1.0f / std::sqrt(squares / static_cast<float>(C) + eps));
    ForVectors(C, [&](int64_t i, auto part) HWY_ATTR {
      Store(hn::Mul(hn::Mul(Load(x + i, part), inverse), Load(weight + i, part)), y + i, part);
    });
    finite &= std::isfinite(squares);
  }
  return finite;
}

bool LayerNormChunk(const LayerNormArgs& args, int64_t begin, int64_t end) {
  return args.y.dtype() == DType::kF32 ? LayerNormRows(args, begin, end, args.y.data<float>())
                                       : LayerNormRows(args, begin, end, args.y.data<bf16_t>());
}

bool RmsNormChunk(ConstView x, View y, const float* weight, float eps) {
  if (y.dtype() == DType::kF32)
    return RmsNormRows(x.data<float>(), y.data<float>(), x.dim(0), x.dim(1), weight, eps);
  return RmsNormRows(x.data<float>(), y.data<bf16_t>(), x.dim(0), x.dim(1), weight, eps);
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::norm {

HWY_EXPORT(LayerNormChunk);
HWY_EXPORT(RmsNormChunk);

bool LayerNormFast(const LayerNormArgs& args) {
  std::atomic<bool> finite{true};
  ForRowChunks(args.y.dim(0), args.y.dim(1), [&](int64_t begin, int64_t end, int) {
    if (!HWY_DYNAMIC_DISPATCH(LayerNormChunk)(args, begin, end)) finite = false;
  });
  return finite;
}

bool RmsNormFast(ConstView x, View y, const float* weight, float eps) {
  std::atomic<bool> finite{true};
  ForRowChunks(x.dim(0), x.dim(1), [&](int64_t begin, int64_t end, int) {
    if (!HWY_DYNAMIC_DISPATCH(RmsNormChunk)(x.Rows(begin, end - begin), y.Rows(begin, end - begin), weight,
                                            eps))
      finite = false;
  });
  return finite;
}

}  // namespace nextscale::norm
#endif  // HWY_ONCE
