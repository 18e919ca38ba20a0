// What a transformer's tensors and options say about its shape.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "checkpoint/model_options.h"
#include "checkpoint/tensor_source.h"
#include "ops/rope2d.h"

namespace nextscale {

struct TransformerConfig {
  int64_t depth = 0;   // blocks
  int64_t chunks = 1;  // of depth / chunks blocks each; only matters with level_each_chunk
  int64_t width = 0;   // C
  int64_t heads = 0;   // H
  int64_t bits = 0;    // a token; the head has twice as many outputs
  int64_t ffn = 0;     // hidden width
  int64_t text_width = 0;
  int64_t text_rows = 0;   // rows of cfg_uncond: the most text tokens of a prompt
  int64_t pool_heads = 0;  // of text_proj_for_sos
  int64_t levels = 0;      // rows of lvl_embed: the most scales
  bool swiglu = false;
  bool ca_gamma = false;
  // What no tensor tells.
  bool level_each_chunk = false;               // add_lvl_embeding_only_first_block = 0
  RopeKind rope_kind = RopeKind::kNormalized;  // rope2d_normalized_by_hw

  int64_t head_dim() const { return width / heads; }
  int64_t blocks_per_chunk() const { return depth / chunks; }

  // Errors: FileError naming file and tensor; CallError for an unknown value of an option.
  static StatusOr<TransformerConfig> FromTensors(const TensorSource& source, const ModelOptions& options);
};

// Parameters of the blocks' matrices and of the rest.
int64_t ParameterCount(const TransformerConfig& config);

}  // namespace nextscale
