// Distances between pictures of the same size.
#pragma once

#include "metrics/image_io.h"

namespace nextscale {

// Peak signal to noise ratio in dB over all RGB bytes; infinity if equal.
double Psnr(const Image& a, const Image& b);
// Structural similarity (Wang et al. 2004): gaussian window 11x11, sigma 1.5, K1 0.01, K2 0.03, on luma, mean
// over the picture.
double Ssim(const Image& a, const Image& b);

}  // namespace nextscale
