// 2-D rotary position embedding over token maps, and the step that turns a qkv product into attention's
// operands.
#pragma once

#include <span>

#include "ops/context.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// How a map's rows and columns become positions (`rope2d_normalized_by_hw`).
enum class RopeKind { kRaw = 0, kResampled = 1, kNormalized = 2 };

// cos and sin, [h*w, D/2] each, tokens row by row: the first D/4 pairs turn with y, the others with x;
// inv_freq_i = 10000^(-2i/(D/2)). kNormalized: position round(i * last.h / h), halves to even, of the exact
// fraction. kRaw: i. kResampled: the table of a 128-grid of the shape of `last`, resampled bilinearly with
// corners aligned. `last` is the last map of the ratio's 1M schedule. D a multiple of 4.
struct RopeTable {
  Tensor cos, sin;
};
RopeTable BuildRopeTable(MapSize map, MapSize last, int64_t D, RopeKind kind, MemoryUse use);

struct QkvSplitArgs {
  ConstView qkv;  // [B*L, 3*H*D], q | k | v; f32 or bf16
  View q;         // [B*L, H*D], same dtype as qkv
  View k, v;      // [B, H, L, D]
  int64_t B = 0, L = 0, H = 0, D = 0;
  const float* q_scale_H = nullptr;  // exp(min(scale_mul, ln 100)) per head
  const RopeTable* rope = nullptr;   // of the whole map
  // [B*L] which token of the batch's maps each row is: token i turns by row i % (h*w) of the table. Empty:
  // the rows are whole maps.
  std::span<const int32_t> rows;
};

// q = rotate(q/|q| * q_scale), k = rotate(k/|k|), v copied; norms (eps 1e-12) and rotation in f32, pairs (2i,
// 2i+1): (a, b) -> (cos a - sin b, sin a + cos b).
void SplitQkv(const QkvSplitArgs& args, const OpContext& ctx);

// [R, P*H*D] -> P tensors [H, R, D] one after another in `out` ([P, H, R, D]): text keys and values in
// attention's layout. Same dtype.
void SplitHeads(ConstView rows, View out, int64_t parts, int64_t H, int64_t D, const OpContext& ctx);

}  // namespace nextscale
