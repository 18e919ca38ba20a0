// Elementwise ops by Highway over chunks of the elements.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "ops/activation_internal.h"
#include "ops/chunks.h"
#include "ops/sigmoid-inl.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

using activation::Function;
using activation::Gated;

template <Function kFunction>
HWY_INLINE FloatVec Apply(FloatVec z) {
  return kFunction == Function::kSilu ? SiluOf(z) : GeluTanhOf(z);
}

template <Function kFunction, class T>
void GatedRun(const T* gate, const T* x, T* y, int64_t n) {
  if (x) {
    ForVectors(n, [&](int64_t i, auto part) HWY_ATTR {
      Store(hn::Mul(Apply<kFunction>(Load(gate + i, part)), Load(x + i, part)), y + i, part);
    });
  } else {
    ForVectors(n, [&](int64_t i, auto part)
                      HWY_ATTR { Store(Apply<kFunction>(Load(gate + i, part)), y + i, part); });
  }
}

template <class T>
void GatedTyped(const Gated& args, int64_t begin, int64_t n) {
  const T* gate = args.gate.data<T>() + begin;
  const T* x = args.x.raw() ? args.x.data<T>() + begin : nullptr;
  T* y = args.y.data<T>() + begin;
  args.function == Function::kSilu ? GatedRun<Function::kSilu>(gate, x, y, n)
                                   : GatedRun<Function::kGelu>(gate, x, y, n);
}

void GatedChunk(const Gated& args, int64_t begin, int64_t n) {
  args.y.dtype() == DType::kF32 ? GatedTyped<float>(args, begin, n) : GatedTyped<bf16_t>(args, begin, n);
}

void AddChunk(float* x, const float* y, int64_t n) {
  ForVectors(n, [&](int64_t i, auto part)
                    HWY_ATTR { Store(hn::Add(Load(x + i, part), Load(y + i, part)), x + i, part); });
}

void MixChunk(float* a, float* b, float m, int64_t n) {
  const FloatVec of_a = hn::Set(FloatTag(), m), of_b = hn::Set(FloatTag(), 1.0f - m);
  ForVectors(n, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec mix = hn::MulAdd(of_a, Load(a + i, part), hn::Mul(of_b, Load(b + i, part)));
    Store(mix, a + i, part);
    Store(mix, b + i, part);
  });
}

template <class From, class To>
void CastRun(const From* from, To* to, int64_t n) {
  ForVectors(n, [&](int64_t i, auto part) HWY_ATTR { Store(Load(from + i, part), to + i, part); });
}

void CastChunk(ConstView from, View to, int64_t begin, int64_t n) {
  if (from.dtype() == DType::kF32) {
    to.dtype() == DType::kF32 ? CastRun(from.data<float>() + begin, to.data<float>() + begin, n)
                              : CastRun(from.data<float>() + begin, to.data<bf16_t>() + begin, n);
  } else {
    to.dtype() == DType::kF32 ? CastRun(from.data<bf16_t>() + begin, to.data<float>() + begin, n)
                              : CastRun(from.data<bf16_t>() + begin, to.data<bf16_t>() + begin, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::activation {

HWY_EXPORT(GatedChunk);
HWY_EXPORT(AddChunk);
HWY_EXPORT(MixChunk);
HWY_EXPORT(CastChunk);

void GatedFast(const Gated& args) {
  ForRowChunks(args.y.elements(), 1, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(GatedChunk)(args, begin, end - begin);
  });
}

void AddRowFast(View x, const float* row) {
  const int64_t C = x.dim(1);
  ForRowChunks(x.dim(0), C, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) HWY_DYNAMIC_DISPATCH(AddChunk)(x.data<float>() + r * C, row, C);
  });
}

void AddInPlaceFast(View x, ConstView y) {
  ForRowChunks(x.elements(), 1, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(AddChunk)(x.data<float>() + begin, y.data<float>() + begin, end - begin);
  });
}

void MixInPlaceFast(View a, View b, float m) {
  ForRowChunks(a.elements(), 1, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(MixChunk)(a.data<float>() + begin, b.data<float>() + begin, m, end - begin);
  });
}

void CastFast(ConstView from, View to) {
  ForRowChunks(to.elements(), 1, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(CastChunk)(from, to, begin, end - begin);
  });
}

}  // namespace nextscale::activation
#endif  // HWY_ONCE
