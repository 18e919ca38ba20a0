// The forward passes of the decoder and the encoder (Decoder, Encoder, ResBlock of Infinity's bsq_vae).
#include "model/vae/vae_pass.h"

namespace nextscale {

FeatureMap RunResBlock(const ResBlock& block, FeatureMap x, VaePass& pass) {
  const FeatureMap hidden = pass.NormConv(block.norm1, block.conv1, x);
  if (block.nin_shortcut) x = pass.ConvInPlace(*block.nin_shortcut, std::move(x));
  pass.AddNormConv(block.norm2, block.conv2, hidden, x);
  return x;
}

void RunDecoder(const CoderLayers& decoder, ConstView latent_dhw, View image_3HW, VaePass& pass) {
  FeatureMap x = pass.Conv(decoder.conv_in, pass.Input(latent_dhw));
  x = RunResBlock(decoder.mid_1, std::move(x), pass);
  x = RunResBlock(decoder.mid_2, std::move(x), pass);
  for (const CoderLevel& level : decoder.levels) {
    for (const ResBlock& block : level.blocks) x = RunResBlock(block, std::move(x), pass);
    if (level.resample) x = pass.Conv(*level.resample, x);
  }
  pass.Output(pass.NormConvF32(decoder.norm_out, decoder.conv_out, x), image_3HW);
}

void RunEncoder(const CoderLayers& encoder, ConstView image_3HW, View features_dhw, VaePass& pass) {
  FeatureMap x = pass.Conv(encoder.conv_in, pass.Input(image_3HW));
  for (const CoderLevel& level : encoder.levels) {
    for (const ResBlock& block : level.blocks) x = RunResBlock(block, std::move(x), pass);
    if (level.resample) x = pass.Conv(*level.resample, x);
  }
  x = RunResBlock(encoder.mid_1, std::move(x), pass);
  x = RunResBlock(encoder.mid_2, std::move(x), pass);
  pass.Output(pass.NormConvF32(encoder.norm_out, encoder.conv_out, x), features_dhw);
}

}  // namespace nextscale
