// The work of each stage from shapes alone, in floating-point operations (2 a multiply-add).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model_info.h"

namespace nextscale {

struct ScaleWork {
  int64_t images = 1, streams = 2;
  int64_t tokens = 0;           // of the map
  int64_t text_tokens = 0;      // of a stream
  std::vector<int64_t> run;     // [layer] tokens that a block runs on
  std::vector<int64_t> cached;  // [layer] keys that are in its cache before
};

struct ScaleFlop {
  double linear = 0;     // all matrix products with weights
  double attention = 0;  // self- and cross-attention
};

ScaleFlop TransformerFlop(const TransformerConfig& config, const ScaleWork& work);
// Once a picture: pooled text and every block's text keys and values.
double ConditionFlop(const TransformerConfig& config, int64_t streams, int64_t text_tokens);
double T5Flop(const T5Config& config, int64_t tokens);
double VaeDecodeFlop(const VaeConfig& config, MapSize latent);

}  // namespace nextscale
