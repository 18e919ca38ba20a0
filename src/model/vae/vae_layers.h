// The layers of the autoencoder's halves under their published names, and where their weights come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/vae/vae.h"
#include "ops/conv2d.h"
#include "ops/group_norm.h"

namespace nextscale {

struct ConvLayer {
  std::string name;  // tensors NAME.conv.weight, NAME.conv.bias
  Conv2dShape shape;
  Conv2dWeights weights;  // empty until loaded; plans need none
};

struct NormLayer {
  std::string name;  // tensors NAME.norm.weight, NAME.norm.bias
  int64_t channels = 0;
  GroupNormWeights weights;
};

struct ResBlock {
  NormLayer norm1;
  ConvLayer conv1;
  NormLayer norm2;
  ConvLayer conv2;
  std::optional<ConvLayer> nin_shortcut;  // where the channels differ
};

struct CoderLevel {
  std::vector<ResBlock> blocks;
  std::optional<ConvLayer> resample;  // all levels but the last one run
};

// An encoder or a decoder.
struct CoderLayers {
  ConvLayer conv_in;
  ResBlock mid_1, mid_2;
  std::vector<CoderLevel> levels;  // in the order they run
  NormLayer norm_out;
  ConvLayer conv_out;
};

CoderLayers DecoderLayers(const VaeConfig& config);
CoderLayers EncoderLayers(const VaeConfig& config);

void ForEachConv(const CoderLayers& layers, absl::FunctionRef<void(const ConvLayer&)> visit);

// Errors: those of ReadTensor.
Status LoadLayers(const TensorSource& source, DType dtype, const OpContext& ctx, CoderLayers& layers);
// Bytes of the weights once loaded.
int64_t LayerBytes(const CoderLayers& layers, DType dtype);

}  // namespace nextscale
