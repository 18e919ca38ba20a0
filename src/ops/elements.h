// Element access for the scalar twins: f32 and bf16 read and written as f32.
#pragma once

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

}  // namespace nextscale
