// Pictures as the VAE's tensors.
#pragma once

#include "metrics/image_io.h"
#include "tensor/tensor.h"

namespace nextscale {

// RGB bytes p -> [3, H, W] f32, 2 * (p / 255) - 1.
Tensor PictureToTensor(const Image& picture, MemoryUse use);

}  // namespace nextscale
