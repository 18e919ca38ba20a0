// AMX tiles, palette 1: what the attention kernel needs of them. `Tiles` is a class with these static
// members; AmxTiles (attention_amx.cc) runs the instructions, EmulatedTiles (tests/ops/emulated_tiles.h)
// follows Intel's pseudo-code:
//   Configure(const TileConfig&), Release()
//   Zero<T>(), Load<T>(base, stride_bytes), Store<T>(base, stride_bytes)   tile T: rows of up to 64 bytes
//   MultiplyAdd<C, A, B>()   TDPBF16PS: f32 C[m][n] += bf16 A[m][2k] B[k][2n] + A[m][2k + 1] B[k][2n + 1]
#pragma once

#include <cstdint>

namespace nextscale::attention {

// LDTILECFG's operand.
struct alignas(64) TileConfig {
  uint8_t palette = 0, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// All eight tiles of 16 rows of 64 bytes.
constexpr TileConfig FullTiles() {
  TileConfig config;
  config.palette = 1;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  return config;
}

}  // namespace nextscale::attention
