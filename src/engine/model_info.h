// What a model is and whether its parts fit together, from headers alone.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "checkpoint/model_files.h"
#include "model/config.h"
#include "model/scale_schedule.h"
#include "model/text/t5_encoder.h"
#include "model/vae/vae.h"

namespace nextscale {

struct ModelInfo {
  std::optional<TransformerConfig> transformer;
  std::optional<VaeConfig> vae;
  std::optional<T5Config> text;
  bool patchify = false;   // spatial patchify: the transformer reads 4 times the tokenizer's bits
  int trained_scales = 0;  // of the schedule it was trained for (option trained_pixels); 0: not known

  // Pixels a token covers along an edge.
  int64_t pixels_per_token() const { return vae->stride() * (patchify ? 2 : 1); }
};

// Reads the configs of the parts that are there and checks that they belong together. Errors: of the configs;
// FileError for a VAE or text encoder that doesn't fit the transformer, naming the one that does.
StatusOr<ModelInfo> ReadModelInfo(const ModelFiles& files);

}  // namespace nextscale
