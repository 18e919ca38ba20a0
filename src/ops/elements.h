// For the scalar twins: elements, f32 and bf16 read and written as f32, and functions of one.
#pragma once

#include <cmath>
#include <numbers>

#include "tensor/tensor.h"

namespace nextscale {

inline bool IsF32OrBf16(DType type) { return type == DType::kF32 || type == DType::kBF16; }

inline float Get(ConstView x, int64_t i) {
  return x.dtype() == DType::kF32 ? x.data<float>()[i] : static_cast<float>(x.data<bf16_t>()[i]);
}

inline void Put(View y, int64_t i, float value) {
  if (y.dtype() == DType::kF32) {
    y.data<float>()[i] = value;
  } else {
    y.data<bf16_t>()[i] = bf16_t(value);
  }
}

inline double Silu(double z) { return z / (1.0 + std::exp(-z)); }
// torch's gelu(approximate="tanh")
inline double GeluTanh(double z) {
  return 0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
}

}  // namespace nextscale
