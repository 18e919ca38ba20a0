// Pictures as the VAE's tensors.
#pragma once

#include "metrics/image_io.h"
#include "ops/context.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// RGB bytes p -> [3, H, W] f32, 2 * (p / 255) - 1.
Tensor PictureToTensor(const Image& picture, MemoryUse use);

enum class PictureResize { kArea, kBilinear };
// The picture at another size, in pixels, rounded to the nearest byte.
Image ResizePicture(const Image& picture, MapSize size, PictureResize how, const OpContext& ops);

}  // namespace nextscale
