// Reads the autoencoder's shape off its tensors: levels from the keys, channels from the kernels.
#include <fmt/format.h>

#include "model/vae/vae.h"
#include "ops/group_norm.h"

namespace nextscale {
namespace {

constexpr int64_t kMostLevels = 12;  // a stride of 2048; keeps the stride's arithmetic safe

// How many of prefix + "0" + suffix, prefix + "1" + suffix, … there are.
int64_t Count(const TensorSource& source, const std::string& prefix, const std::string& suffix) {
  int64_t n = 0;
  while (source.Find(fmt::format("{}{}{}", prefix, n, suffix))) ++n;
  return n;
}

Status BadChannels(const TensorSource& source, const std::string& name, int64_t found,
                   const std::string& expected) {
  return FileError(fmt::format("{}: tensor {} has {} channels", source.Describe(), name, found), expected,
                   "use an autoencoder in the layout of Infinity's published ones");
}

}  // namespace

StatusOr<VaeConfig> VaeConfig::FromTensors(const TensorSource& source) {
  const bool decoder = source.Find("decoder.conv_in.conv.weight") != nullptr;
  const std::string levels = decoder ? "decoder.up." : "encoder.down.";
  const int64_t n = std::max<int64_t>(1, Count(source, levels, ".block.0.conv1.conv.weight"));
  if (n > kMostLevels) {
    return FileError(fmt::format("{}: {} levels under {}", source.Describe(), n, levels),
                     fmt::format("at most {} are possible", kMostLevels));
  }
  std::vector<int64_t> channels;
  for (int64_t i = 0; i < n; ++i) {
    const std::string name = fmt::format("{}{}.block.0.conv1.conv.weight", levels, i);
    NS_ASSIGN_OR_RETURN(const TensorInfo* kernel, FindTensor(source, name, {-1, -1, 3, 3}));
    channels.push_back(kernel->shape[0]);
    if (channels[i] <= 0 || !GroupNormGroups(channels[i])) {
      return BadChannels(source, name, channels[i], "GroupNorm takes multiples of 32 or of 24");
    }
  }

  VaeConfig config;
  config.base_channels = channels[0];
  if (const TensorInfo* first = source.Find("encoder.conv_in.conv.weight");
      first && first->shape.rank() == 4) {
    config.base_channels = first->shape[0];
  }
  for (int64_t i = 0; i < n; ++i) {
    if (config.base_channels <= 0 || channels[i] % config.base_channels != 0) {
      return BadChannels(source, fmt::format("{}{}.block.0.conv1.conv.weight", levels, i), channels[i],
                         fmt::format("expected a multiple of {}", config.base_channels));
    }
    config.multipliers.push_back(channels[i] / config.base_channels);
  }
  const int64_t blocks = Count(source, levels + "0.block.", ".conv1.conv.weight");
  config.decoder_res_blocks = decoder ? blocks : blocks + 1;
  const std::string ends = decoder ? "decoder.conv_in.conv.weight" : "encoder.conv_out.conv.weight";
  NS_ASSIGN_OR_RETURN(const TensorInfo* kernel, FindTensor(source, ends, {-1, -1, 3, 3}));
  config.bits = kernel->shape[decoder ? 1 : 0];
  if (config.bits <= 0) return BadChannels(source, ends, config.bits, "expected a positive number of bits");
  return config;
}

}  // namespace nextscale
