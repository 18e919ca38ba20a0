// Row normalisations. Statistics in f32 (two passes: no mean(x^2) - mean(x)^2).
#pragma once

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

// y = LN(x) * weight + bias, over the last dimension. x [R, C] f32, y [R, C] f32 or bf16, weight and bias
// [C]. Returns false if a row holds a NaN or an infinity, or squares beyond f32; y is then unspecified there.
[[nodiscard]] bool LayerNorm(ConstView x, View y, const float* weight, const float* bias, float eps,
                             const OpContext& ctx);

// T5's and text_norm's: y = x / sqrt(mean(x^2) + eps) * weight. Shapes and result as LayerNorm.
[[nodiscard]] bool RmsNorm(ConstView x, View y, const float* weight, float eps, const OpContext& ctx);

}  // namespace nextscale
