// Bits of a token map and the code they stand for.
#pragma once

#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// bits [h*w, d] u8 -> code (2b-1)/sqrt(d_vae) at the latent's size, [d_vae, h', w'] f32; with patchify (d = 4
// d_vae) pixel-shuffled first.
void BitsToLatentCode(ConstView bits_Ld, MapSize map, bool patchify, View code_dhw);

}  // namespace nextscale
