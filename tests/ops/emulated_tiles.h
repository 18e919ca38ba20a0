// AMX tiles in plain C++, after the pseudo-code of Intel's instruction set reference (LDTILECFG, TILELOADD,
// TILESTORED, TDPBF16PS, TILEZERO, TILERELEASE), so that kernels written for them can be checked on any
// machine. One set of tiles a thread, as in hardware.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "ops/attention_tiles.h"

namespace nextscale::attention {
namespace {

class EmulatedTiles {
 public:
  static void Configure(const TileConfig& config) {
    Require(config.palette == 1);
    for (int i = 0; i < 16; ++i) {
      Require(i < 8 ? config.rows[i] <= 16 && config.row_bytes[i] <= 64
                    : config.rows[i] == 0 && config.row_bytes[i] == 0);
      Require((config.rows[i] == 0) == (config.row_bytes[i] == 0));
    }
    state.config = config;
    std::memset(state.data, 0, sizeof state.data);
  }
  static void Release() { state.config = TileConfig(); }

  template <int T>
  static void Zero() {
    Require(Rows(T) > 0);
    std::memset(state.data[T], 0, sizeof state.data[T]);
  }
  template <int T>
  static void Load(const void* base, int64_t stride) {
    Zero<T>();  // what a row or the tile has beyond its configured size
    for (int r = 0; r < Rows(T); ++r)
      std::memcpy(state.data[T][r], static_cast<const char*>(base) + r * stride, RowBytes(T));
  }
  template <int T>
  static void Store(void* base, int64_t stride) {
    Require(Rows(T) > 0);
    for (int r = 0; r < Rows(T); ++r)
      std::memcpy(static_cast<char*>(base) + r * stride, state.data[T][r], RowBytes(T));
  }
  template <int C, int A, int B>
  static void MultiplyAdd() {
    static_assert(C != A && C != B && A != B);
    // #UD unless the shapes agree.
    Require(RowBytes(A) == 4 * Rows(B) && Rows(C) == Rows(A) && RowBytes(C) == RowBytes(B));
    const int N = RowBytes(C) / 4, K = RowBytes(A) / 4;
    float b[16][2][16];
    for (int k = 0; k < K; ++k) {
      for (int n = 0; n < 2 * N; ++n) b[k][n % 2][n / 2] = Element(B, k, n);
    }
    for (int m = 0; m < Rows(C); ++m) {
      float sums[2][16] = {};
      for (int k = 0; k < K; ++k) {
        for (int i = 0; i < 2; ++i) {
          const float a = Element(A, m, 2 * k + i);
          for (int n = 0; n < N; ++n) sums[i][n] = Flush(std::fma(a, b[k][i][n], sums[i][n]));
        }
      }
      for (int n = 0; n < N; ++n) {
        float value;
        std::memcpy(&value, state.data[C][m] + 4 * n, 4);
        value = Flush(Flush(value) + Flush(sums[0][n] + sums[1][n]));
        std::memcpy(state.data[C][m] + 4 * n, &value, 4);
      }
    }
    for (int m = Rows(C); m < 16; ++m) std::memset(state.data[C][m], 0, 64);
  }

 private:
  struct State {
    TileConfig config;
    unsigned char data[8][16][64];
  };
  static inline thread_local State state;

  // What would be an exception in hardware: #GP, #UD.
  static void Require(bool valid) {
    if (!valid) std::abort();
  }
  static int Rows(int tile) { return state.config.rows[tile]; }
  static int RowBytes(int tile) { return state.config.row_bytes[tile]; }
  static float Element(int tile, int row, int i) {
    uint16_t upper;
    std::memcpy(&upper, state.data[tile][row] + 2 * i, 2);
    const uint32_t bits = static_cast<uint32_t>(upper) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return Flush(value);
  }
  // Subnormal operands and results are zeros.
  static float Flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
};

}  // namespace
}  // namespace nextscale::attention
