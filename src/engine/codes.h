// A scale's bits in their two orders: as the transformer's tokens, and as the VAE's latent.
#pragma once

#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// Between a token map's bits u8 [h*w, d] and the latent's [d', h', w']; with patchify (d = 4 d') those are
// pixel-shuffled.
Tensor LatentBits(ConstView bits_Ld, MapSize map, bool patchify, const MemoryUse& use);
Tensor TokenBits(ConstView bits_dhw, bool patchify, const MemoryUse& use);

}  // namespace nextscale
