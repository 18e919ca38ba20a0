#include "engine/codes.h"

#include <cmath>

#include "base/check.h"

namespace nextscale {

void BitsToLatentCode(ConstView bits_Ld, MapSize map, bool patchify, View code_dhw) {
  const int64_t d = bits_Ld.dim(1), channels = code_dhw.dim(0), width = code_dhw.dim(2);
  const int64_t block = patchify ? 2 : 1;
  NS_CHECK(d == channels * block * block && code_dhw.dim(1) == map.h * block && width == map.w * block,
           "bits {} to a code {}", ToString(bits_Ld.shape()), ToString(code_dhw.shape()));
  const float unit = 1.0f / std::sqrt(static_cast<float>(channels));
  const uint8_t* bits = bits_Ld.data<uint8_t>();
  float* code = code_dhw.data<float>();
  for (int64_t y = 0; y < map.h; ++y) {
    for (int64_t x = 0; x < map.w; ++x) {
      for (int64_t i = 0; i < d; ++i) {
        // Bit i is channel i / block^2, row (i / block) % block and column i % block of its patch
        // (torch.pixel_shuffle).
        const int64_t c = i / (block * block), row = y * block + i / block % block,
                      column = x * block + i % block;
        code[(c * code_dhw.dim(1) + row) * width + column] = bits[(y * map.w + x) * d + i] ? unit : -unit;
      }
    }
  }
}

}  // namespace nextscale
