// The transformer's weights, packed for this machine. Const after loading.
#pragma once

#include <vector>

#include "base/status.h"
#include "checkpoint/tensor_source.h"
#include "model/config.h"
#include "ops/matmul.h"

namespace nextscale {

struct BlockWeights {
  LinearWeights qkv, proj;              // C -> 3C (bias [q_bias, 0, v_bias]), C -> C
  LinearWeights ca_q, ca_kv, ca_proj;   // C -> C, C -> 2C (bias [0, v_bias]), C -> C
  LinearWeights fc1, fcg, fc2;          // C -> F, C -> F (SwiGLU only), F -> C
  Tensor q_scale_H;                     // exp(min(scale_mul, ln 100))
  Tensor ada_gss;                       // [6, C]: gamma1, gamma2, scale1, scale2, shift1, shift2
  Tensor ca_norm_weight, ca_norm_bias;  // [C]
  Tensor ca_gamma;                      // [C], empty if absent
};

// Blocks in `dtype`; what is outside them in f32.
struct TransformerWeights {
  std::vector<BlockWeights> blocks;
  LinearWeights word_embed;          // d -> C
  LinearWeights head_ada, head;      // C -> 2C, C -> 2d
  LinearWeights shared_ada;          // C -> 6C
  LinearWeights text_fc1, text_fc2;  // text_proj_for_ca.0 and .2
  LinearWeights pool_kv, pool_proj;  // text_proj_for_sos.ca
  Tensor pool_q;                     // [C]: H_pool queries one after another
  Tensor text_norm;                  // [text width]
  Tensor cfg_uncond;                 // [rows, text width]
  Tensor pos_start;                  // [C]
  Tensor level_embed;                // [levels, C]

  // Streams each tensor from the source to its packed form. Errors: FileError naming file and tensor.
  static StatusOr<TransformerWeights> Load(const TensorSource& source, const TransformerConfig& config,
                                           DType dtype, const OpContext& ctx);
};

// Bytes that the weights will hold, for plans.
int64_t TransformerWeightBytes(const TransformerConfig& config, DType dtype);

}  // namespace nextscale
