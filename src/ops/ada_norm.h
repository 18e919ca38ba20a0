// Adaptive layer norm of the blocks and the head (Infinity's ada_layer_norm): y = LN(x) * (1 + scale) +
// shift, LN without weights.
#pragma once

#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

struct AdaNormArgs {
  ConstView x;                    // [B*L, C] f32; with `rows`, any number of rows
  View y;                         // [B*L, C] f32 or bf16
  std::span<const int32_t> rows;  // [B*L] which row of x each row of y is of; empty: the same
  int64_t rows_per_stream = 0;    // L of y
  const float* scale_BC = nullptr;
  const float* shift_BC = nullptr;
  int64_t stream_stride = 0;  // floats from one stream's scale (and shift) to the next
  float eps = 1e-6f;
};

// Returns false if a row that is read holds a NaN or an infinity: the first layer that shows a broken weight.
[[nodiscard]] bool AdaNorm(const AdaNormArgs& args, const OpContext& ctx);

}  // namespace nextscale
