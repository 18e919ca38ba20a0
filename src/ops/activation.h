// Elementwise functions and small sums of rows. All arithmetic in f32.
#pragma once

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

// y = silu(gate) * x, silu(z) = z / (1 + exp(-z)). SwiGLU. Any equal shapes; f32 or bf16, all three the same;
// y may be gate or x.
void SiluMul(ConstView gate, ConstView x, View y, const OpContext& ctx);
// y = gelu_tanh(gate) * x: T5's gated GELU.
void GeluMul(ConstView gate, ConstView x, View y, const OpContext& ctx);
// y = silu(x). y may be x.
void Silu(ConstView x, View y, const OpContext& ctx);
// x[r, :] += row[:]; x [R, C] f32, row [C].
void AddRow(View x, const float* row, const OpContext& ctx);
// x += y, f32, equal shapes.
void AddInPlace(View x, ConstView y, const OpContext& ctx);
// a = b = m*a + (1-m)*b, f32, equal shapes: guidance inside, both streams go on from the mix.
void MixInPlace(View a, View b, float m, const OpContext& ctx);
// Between f32 and bf16, equal shapes.
void Cast(ConstView from, View to, const OpContext& ctx);

}  // namespace nextscale
