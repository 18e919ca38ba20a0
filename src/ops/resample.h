// Resizing and rearranging of code maps, channels first: [d, h, w]. Resizing is of f32, rearranging of f32 or
// u8.
#pragma once

#include "ops/context.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// torch's F.interpolate(mode="bilinear", align_corners=False), not antialiased: each output samples its 4
// neighbours.
void ResizeBilinear(ConstView from_dhw, View to_dhw, const OpContext& ctx);
// Adaptive average pooling: output i averages inputs floor(i*in/out) .. ceil((i+1)*in/out)-1 per axis, for
// shrinking and growing.
void ResizeArea(ConstView from_dhw, View to_dhw, const OpContext& ctx);
// torch.pixel_shuffle by 2: [4d, h, w] -> [d, 2h, 2w], channel-major; and back.
void PixelShuffle2(ConstView from, View to);
void PixelUnshuffle2(ConstView from, View to);
// [d, h, w] -> [h*w, d] and back.
void ChannelsToTokens(ConstView from_dhw, View to_Ld);
void TokensToChannels(ConstView from_Ld, View to_dhw);

}  // namespace nextscale
