#include "engine/codes.h"

#include "ops/resample.h"

namespace nextscale {

Tensor LatentBits(ConstView bits_Ld, MapSize map, bool patchify, const MemoryUse& use) {
  const int64_t d = bits_Ld.dim(1);
  Tensor channels(DType::kU8, {d, map.h, map.w}, use);
  TokensToChannels(bits_Ld, channels.view());
  if (!patchify) return channels;
  Tensor latent(DType::kU8, {d / 4, 2 * map.h, 2 * map.w}, use);
  PixelShuffle2(channels.view(), latent.view());
  return latent;
}

Tensor TokenBits(ConstView bits_dhw, bool patchify, const MemoryUse& use) {
  const int64_t d = bits_dhw.dim(0), h = bits_dhw.dim(1), w = bits_dhw.dim(2);
  Tensor channels;
  if (patchify) {
    channels = Tensor(DType::kU8, {4 * d, h / 2, w / 2}, use);
    PixelUnshuffle2(bits_dhw, channels.view());
  }
  const ConstView map = patchify ? ConstView(channels.view()) : bits_dhw;
  Tensor tokens(DType::kU8, {map.dim(1) * map.dim(2), map.dim(0)}, use);
  ChannelsToTokens(map, tokens.view());
  return tokens;
}

}  // namespace nextscale
