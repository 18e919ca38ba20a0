// The AMX kernel's source on emulated tiles, so that each of its indices is checked on machines without AMX
// (they need AVX-512 bf16).
#include "emulated_tiles.h"
#include "ops/attention_amx-inl.h"

namespace nextscale::attention {

const Bf16Kernel& EmulatedAmxKernel() {
  static constexpr Bf16Kernel kernel = TileKernel<EmulatedTiles>();
  return kernel;
}

}  // namespace nextscale::attention
