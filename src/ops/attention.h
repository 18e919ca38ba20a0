// Scaled dot-product attention by online softmax over key blocks (Milakov & Gimelshein 2018; Dao et al.
// 2022): no L x S matrix in memory.
#pragma once

#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

// Keys and values of one (stream, head): `length` rows of D elements each, contiguous; k and v of the dtype
// of the call.
struct HeadKv {
  const void* k = nullptr;
  const void* v = nullptr;
  int64_t length = 0;
};

struct AttentionArgs {
  ConstView q;  // [B*L, H*D], head h of a row at h*D; f32 or bf16
  View o;       // [B*L, H*D], same dtype; may not overlap q
  int64_t B = 0, L = 0, H = 0, D = 0;
  // Two parts of the keys, in this order: what was cached, and what belongs to the current map. Each [B*H],
  // stream outermost, or empty.
  std::span<const HeadKv> cached_BH;
  std::span<const HeadKv> current_BH;
  float scale = 1.0f;               // logits = scale * q.k + bias
  const float* bias_HLS = nullptr;  // null, or [H, L, S] added to the logits of every stream (S the same for
                                    // all heads); f32 calls only
};

// o = softmax(scale * q k^T + bias) v per stream and head, sums and softmax in f32. A head without keys gives
// zeros. Any D up to 256 (bf16: even). The same bits for any number of threads and streams. bf16 runs on AMX
// tiles or AVX-512 bf16 where ctx.isa has them, else converts blocks to f32.
void Attention(const AttentionArgs& args, const OpContext& ctx);

// Scratch that calls of at most `heads` (stream, head) pairs and S keys hold, for plans.
int64_t AttentionScratchBytes(int64_t heads, int64_t S, int64_t D, DType dtype, Isa isa, int threads);

}  // namespace nextscale
