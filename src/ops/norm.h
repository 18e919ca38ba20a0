// Row normalisations. Statistics in f32 (two passes: no mean(x^2) - mean(x)^2).
#pragma once

#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

struct LayerNormArgs {
  ConstView x;                    // [R, C] f32; with `rows`, any number of rows
  View y;                         // [R, C] f32 or bf16
  std::span<const int32_t> rows;  // [R] which row of x each row of y is of; empty: the same
  const float* weight = nullptr;  // [C]
  const float* bias = nullptr;    // [C]
  float eps = 1e-6f;
};

// y = LN(x) * weight + bias, over the last dimension. Returns false if a row that is read holds a NaN or an
// infinity, or squares beyond f32; y is then unspecified there.
[[nodiscard]] bool LayerNorm(const LayerNormArgs& args, const OpContext& ctx);

// T5's and text_norm's: y = x / sqrt(mean(x^2) + eps) * weight. x [R, C] f32, y [R, C] f32 or bf16, weight
// [C]. Result as LayerNorm.
[[nodiscard]] bool RmsNorm(ConstView x, View y, const float* weight, float eps, const OpContext& ctx);

}  // namespace nextscale
