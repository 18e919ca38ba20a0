// SiLU and tanh-GELU of vectors. For Highway files that include this after foreach_target.h.
#if defined(NEXTSCALE_OPS_SIGMOID_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NEXTSCALE_OPS_SIGMOID_INL_H_
#undef NEXTSCALE_OPS_SIGMOID_INL_H_
#else
#define NEXTSCALE_OPS_SIGMOID_INL_H_
#endif

#include "ops/attention_exp-inl.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

// z / (1 + exp(-u)), exp of what is never positive only: no overflow at either end.
HWY_INLINE FloatVec TimesSigmoid(FloatVec z, FloatVec u) {
  const FloatTag d;
  const FloatVec e = ExpNonPositive(d, hn::Neg(hn::Abs(u)));
  const FloatVec numerator = hn::IfThenElse(hn::Lt(u, hn::Zero(d)), hn::Mul(z, e), z);
  return hn::Div(numerator, hn::Add(e, hn::Set(d, 1.0f)));
}

HWY_INLINE FloatVec SiluOf(FloatVec z) { return TimesSigmoid(z, z); }

// torch's gelu(approximate="tanh"): 0.5 * (1 + tanh(t)) = 1 / (1 + exp(-2t)), t = sqrt(2/pi) * (z + 0.044715
// z^3)
HWY_INLINE FloatVec GeluTanhOf(FloatVec z) {
  const FloatTag d;
  const FloatVec cubic =
      hn::MulAdd(hn::Mul(z, z), hn::Set(d, 0.0713548162726f), hn::Set(d, 1.59576912160573f));
  return TimesSigmoid(z, hn::Mul(z, cubic));
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#endif  // NEXTSCALE_OPS_SIGMOID_INL_H_
