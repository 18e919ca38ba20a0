#include "model/vae/vae_layers.h"

#include <fmt/format.h>

namespace nextscale {
namespace {

ConvLayer Conv(std::string name, ConvKind kind, int64_t in, int64_t out) {
  return {std::move(name), {kind, in, out}, {}};
}
NormLayer Norm(std::string name, int64_t channels) { return {std::move(name), channels, {}}; }

ResBlock Block(const std::string& name, int64_t in, int64_t out) {
  ResBlock block{Norm(name + ".norm1", in),
                 Conv(name + ".conv1", ConvKind::k3x3, in, out),
                 Norm(name + ".norm2", out),
                 Conv(name + ".conv2", ConvKind::k3x3, out, out),
                 {}};
  if (in != out) block.nin_shortcut = Conv(name + ".nin_shortcut", ConvKind::k1x1, in, out);
  return block;
}

// Level `name` with `blocks` res blocks from `in` channels to `out`.
CoderLevel Level(const std::string& name, int64_t blocks, int64_t in, int64_t out) {
  CoderLevel level;
  for (int64_t j = 0; j < blocks; ++j)
    level.blocks.push_back(Block(fmt::format("{}.block.{}", name, j), j ? out : in, out));
  return level;
}

struct Visitors {
  absl::FunctionRef<Status(ConvLayer&)> conv;
  absl::FunctionRef<Status(NormLayer&)> norm;
};

Status Visit(ResBlock& block, const Visitors& visit) {
  NS_RETURN_IF_ERROR(visit.norm(block.norm1));
  NS_RETURN_IF_ERROR(visit.conv(block.conv1));
  NS_RETURN_IF_ERROR(visit.norm(block.norm2));
  NS_RETURN_IF_ERROR(visit.conv(block.conv2));
  return block.nin_shortcut ? visit.conv(*block.nin_shortcut) : Status();
}

Status Visit(CoderLayers& layers, const Visitors& visit) {
  NS_RETURN_IF_ERROR(visit.conv(layers.conv_in));
  NS_RETURN_IF_ERROR(Visit(layers.mid_1, visit));
  NS_RETURN_IF_ERROR(Visit(layers.mid_2, visit));
  for (CoderLevel& level : layers.levels) {
    for (ResBlock& block : level.blocks) NS_RETURN_IF_ERROR(Visit(block, visit));
    if (level.resample) NS_RETURN_IF_ERROR(visit.conv(*level.resample));
  }
  NS_RETURN_IF_ERROR(visit.norm(layers.norm_out));
  return visit.conv(layers.conv_out);
}

StatusOr<Tensor> Read(const TensorSource& source, const std::string& name, const Shape& shape,
                      const OpContext& ctx) {
  return ReadTensor(source, name, shape, DType::kF32, {ctx.ledger, Account::kScratch});
}

std::span<const float> Floats(const Tensor& tensor) {
  return {tensor.data<float>(), static_cast<size_t>(tensor.elements())};
}

Status LoadConv(const TensorSource& source, DType dtype, const OpContext& ctx, ConvLayer& layer) {
  const Conv2dShape& shape = layer.shape;
  NS_ASSIGN_OR_RETURN(const Tensor kernel, Read(source, layer.name + ".conv.weight",
                                                {shape.out, shape.in, shape.kernel(), shape.kernel()}, ctx));
  NS_ASSIGN_OR_RETURN(const Tensor bias, Read(source, layer.name + ".conv.bias", {shape.out}, ctx));
  layer.weights = Conv2dWeights::Pack(shape, dtype, Floats(kernel), Floats(bias), ctx);
  return {};
}

Status LoadNorm(const TensorSource& source, const OpContext& ctx, NormLayer& layer) {
  NS_ASSIGN_OR_RETURN(const Tensor gamma, Read(source, layer.name + ".norm.weight", {layer.channels}, ctx));
  NS_ASSIGN_OR_RETURN(const Tensor beta, Read(source, layer.name + ".norm.bias", {layer.channels}, ctx));
  layer.weights = {GroupNormGroups(layer.channels),
                   1e-6,
                   {Floats(gamma).begin(), Floats(gamma).end()},
                   {Floats(beta).begin(), Floats(beta).end()}};
  return {};
}

}  // namespace

CoderLayers DecoderLayers(const VaeConfig& config) {
  const auto channels = [&](int64_t level) { return config.base_channels * config.multipliers[level]; };
  const int64_t levels = static_cast<int64_t>(config.multipliers.size());
  int64_t c = channels(levels - 1);
  CoderLayers layers{Conv("decoder.conv_in", ConvKind::k3x3, config.bits, c),
                     Block("decoder.mid.block_1", c, c),
                     Block("decoder.mid.block_2", c, c),
                     {},
                     {},
                     {}};
  for (int64_t i = levels - 1; i >= 0; --i) {  // the coarsest first
    const std::string name = fmt::format("decoder.up.{}", i);
    layers.levels.push_back(Level(name, config.decoder_res_blocks, c, channels(i)));
    c = channels(i);
    if (i > 0) layers.levels.back().resample = Conv(name + ".upsample.conv", ConvKind::k3x3Upsampled, c, c);
  }
  layers.norm_out = Norm("decoder.norm_out", c);
  layers.conv_out = Conv("decoder.conv_out", ConvKind::k3x3, c, 3);
  return layers;
}

CoderLayers EncoderLayers(const VaeConfig& config) {
  const int64_t levels = static_cast<int64_t>(config.multipliers.size());
  int64_t c = config.base_channels;
  CoderLayers layers{Conv("encoder.conv_in", ConvKind::k3x3, 3, c), {}, {}, {}, {}, {}};
  for (int64_t i = 0; i < levels; ++i) {  // the finest first
    const std::string name = fmt::format("encoder.down.{}", i);
    const int64_t out = config.base_channels * config.multipliers[i];
    layers.levels.push_back(Level(name, config.decoder_res_blocks - 1, c, out));
    c = out;
    if (i + 1 < levels)
      layers.levels.back().resample = Conv(name + ".downsample.conv", ConvKind::k3x3Down, c, c);
  }
  layers.mid_1 = Block("encoder.mid.block_1", c, c);
  layers.mid_2 = Block("encoder.mid.block_2", c, c);
  layers.norm_out = Norm("encoder.norm_out", c);
  layers.conv_out = Conv("encoder.conv_out", ConvKind::k3x3, c, config.bits);
  return layers;
}

void ForEachConv(const CoderLayers& layers, absl::FunctionRef<void(const ConvLayer&)> visit) {
  const auto conv = [&](const ConvLayer& layer) {
    visit(layer);
    return Status();
  };
  const auto norm = [](const NormLayer&) { return Status(); };
  Visit(const_cast<CoderLayers&>(layers), {conv, norm}).IgnoreError();
}

Status LoadLayers(const TensorSource& source, DType dtype, const OpContext& ctx, CoderLayers& layers) {
  const auto conv = [&](ConvLayer& layer) { return LoadConv(source, dtype, ctx, layer); };
  const auto norm = [&](NormLayer& layer) { return LoadNorm(source, ctx, layer); };
  return Visit(layers, {conv, norm});
}

int64_t LayerBytes(const CoderLayers& layers, DType dtype) {
  int64_t bytes = 0;
  ForEachConv(layers, [&](const ConvLayer& layer) { bytes += PackedConv2dBytes(layer.shape, dtype); });
  return bytes;
}

}  // namespace nextscale
