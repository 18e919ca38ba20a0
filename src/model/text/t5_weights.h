// The text encoder's tensors by name, and one layer's weights through which all layers stream.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/text/t5_encoder.h"
#include "ops/matmul.h"

namespace nextscale {

inline constexpr std::string_view kT5Embedding = "shared.weight";
inline constexpr std::string_view kT5RelativeBias =
    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";
inline constexpr std::string_view kT5FinalNorm = "encoder.final_layer_norm.weight";
std::string T5LayerName(int64_t layer,
                        int part);           // "encoder.block.3.layer.1": attention is part 0, feed-forward 1
std::string T5AttentionName(int64_t layer);  // with "q.weight" … behind it
std::string T5FeedForwardName(int64_t layer);  // with "wi_0.weight" … behind it

// That layer `n` has its tensors, in the shapes `config` tells.
Status CheckT5Layer(const TensorSource& source, const T5Config& config, int64_t n);

// The weights of the layer loaded last.
class T5Layer {
 public:
  // Each layer goes where the one before was.
  Status Load(const TensorSource& source, const T5Config& config, int64_t n, DType dtype,
              const OpContext& ctx);

  LinearWeights q, k, v, o;         // [inner, width] x 3, [width, inner]
  LinearWeights wi_0, wi_1, wo;     // [ffn, width] x 2, [width, ffn]
  Tensor attention_norm, ffn_norm;  // [width] f32
};

int64_t T5LayerBytes(const T5Config& config, DType dtype);

}  // namespace nextscale
