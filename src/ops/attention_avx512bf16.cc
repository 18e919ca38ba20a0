// bf16 attention with AVX-512's VDPBF16PS, transposed: a column is a query, so that softmax over keys needs
// no sums across lanes.
//   S^T = K Q^T (a pair of K broadcast, read in place), online softmax down the columns, O^T = V^T P^T (a
//   pair of packed V broadcast).
// Online softmax: Milakov & Gimelshein 2018; Dao et al. 2022.
#include "ops/attention_avx512-inl.h"

namespace nextscale::attention {
namespace {

// Measured on Zen 5 at 4096 x 10521, D 128, share of the peak: alone, 96 queries 85%; with neighbours that
// use up cache and memory bandwidth, 96 queries 66%, 192 75%, 384 80% (but too few blocks for the threads at
// 32 x 32). Key blocks of 64 to 512 differ by 3%.
constexpr int64_t kMaxQueries = 192;
constexpr int64_t kKeyBlock = 256;
// A product tile holds 8 x 3 sums in registers.
constexpr int kRows = 8;
constexpr int kVecs = 3;

using Pair = int32_t __attribute__((may_alias, aligned(2)));

// Of `left` vector columns. Four are two and two: one alone keeps the units that multiply half busy.
inline int64_t VectorsOfPanel(int64_t left) { return left == 4 ? 2 : Min(kVecs, left); }

struct Panel {
  int64_t first = 0;  // query of the block
  int64_t vecs = 0;
  __m512i* q = nullptr;  // [PaddedWidth(D) / 2, panel] pairs
  float* o = nullptr;    // [PaddedWidth(D), panel] sums
  ColumnState state[kVecs];
};

// products[row, :] = k_rows[row] Q^T for 8 keys; largest takes in their maximum.
template <int kV>
inline void ProductsTile(const Pair* const k_rows[kRows], int64_t pairs, const __m512i* q, float* products,
                         __m512 (&largest)[kVecs]) {
  const Pair* k[kRows];
  __m512 sums[kRows][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    k[r] = k_rows[r];
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) sums[r][c] = _mm512_setzero_ps();
  }
  for (int64_t i = 0; i < pairs; ++i, q += kV) {
    __m512bh column[kV];
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) column[c] = (__m512bh)_mm512_load_si512(q + c);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512bh element = (__m512bh)_mm512_set1_epi32(k[r][i]);
#pragma GCC unroll 4
      for (int c = 0; c < kV; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], element, column[c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) {
      largest[c] = _mm512_max_ps(largest[c], sums[r][c]);
      _mm512_store_ps(products + (r * kV + c) * 16, sums[r][c]);
    }
  }
}

// o[row, :] = alpha * o[row, :] + V^T P^T for 8 elements of the head; v is their first row in the block's
// first tile. With the first keys (`first`) o is only written.
template <int kV>
inline void ValuesTile(const Pair* v, int64_t tile_stride, int64_t pairs, const __m512i* p, bool first,
                       const __m512* alpha, float* o) {
  __m512 sums[kRows][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) {
      sums[r][c] =
          first ? _mm512_setzero_ps() : _mm512_mul_ps(alpha[c], _mm512_load_ps(o + (r * kV + c) * 16));
    }
  }
  for (; pairs > 0; pairs -= kKeyTile / 2, v += tile_stride) {
    const int64_t n = Min(pairs, kKeyTile / 2);
    for (int64_t i = 0; i < n; ++i, p += kV) {
      __m512bh column[kV];
#pragma GCC unroll 4
      for (int c = 0; c < kV; ++c) column[c] = (__m512bh)_mm512_load_si512(p + c);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m512bh element = (__m512bh)_mm512_set1_epi32(v[r * (kKeyTile / 2) + i]);
#pragma GCC unroll 4
        for (int c = 0; c < kV; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], element, column[c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) _mm512_store_ps(o + (r * kV + c) * 16, sums[r][c]);
  }
}

// Keys [begin, begin + n) for one panel. `products` is [kKeyBlock, panel].
template <int kV>
void AttendPanel(const QueryBlock& block, int64_t begin, int64_t n, __m512 scale, Panel& panel,
                 float* products) {
  const Keys& keys = block.keys;
  __m512 largest[kVecs];
  for (__m512& x : largest) x = _mm512_set1_ps(-__builtin_inff());
  for (int64_t i = 0; i < n; i += kRows) {
    const Pair* rows[kRows];
    // Past the last key that one is repeated: it doesn't change the maximum.
    for (int64_t r = 0; r < kRows; ++r) {
      rows[r] = reinterpret_cast<const Pair*>(RowOf(keys.k, keys, begin + Min(i + r, n - 1), block.D));
    }
    ProductsTile<kV>(rows, block.D / 2, panel.q, products + i * kV * 16, largest);
  }
  __m512i* const weights = reinterpret_cast<__m512i*>(products);
  const int64_t pairs = DivideUp(n, 2);
  __m512 alpha[kV];
  for (int c = 0; c < kV; ++c) {
    UpdateReference(largest[c], scale, panel.state[c], alpha[c]);
    WeighColumn(products + c * 16, n, pairs, kV, scale, panel.state[c], weights + c);
  }
  const int64_t padded = PaddedWidth(block.D), tile_stride = padded * kKeyTile / 2;
  const Pair* v = static_cast<const Pair*>(block.packed_v) + begin / kKeyTile * tile_stride;
  for (int64_t d = 0; d < block.D; d += kRows) {
    ValuesTile<kV>(v + d * kKeyTile / 2, tile_stride, pairs, weights, begin == 0, alpha,
                   panel.o + d * kV * 16);
  }
}

void Attend(const QueryBlock& block) {
  const int64_t padded = PaddedWidth(block.D), S = block.keys.total();
  float* const products = reinterpret_cast<float*>(block.scratch);
  float* free = products + kKeyBlock * kVecs * 16;
  Panel panels[kMaxQueries / (kVecs * 16) + 1];
  int64_t count = 0;
  for (int64_t q0 = 0; q0 < block.queries; q0 += panels[count++].vecs * 16) {
    Panel& p = panels[count];
    p.first = q0;
    p.vecs = VectorsOfPanel(DivideUp(block.queries - q0, 16));
    p.q = reinterpret_cast<__m512i*>(free);
    p.o = free + padded / 2 * p.vecs * 16;
    free = p.o + padded * p.vecs * 16;
    for (int64_t c = 0; c < p.vecs; ++c) {
      PackQueries(block, q0 + c * 16, p.vecs, p.q + c);
      p.state[c] = EmptyColumn();
    }
  }
  const __m512 scale = _mm512_set1_ps(__builtin_fabsf(block.scale) * 1.44269504088896341f);
  for (int64_t begin = 0; begin < S; begin += kKeyBlock) {
    const int64_t n = Min(kKeyBlock, S - begin);
    for (int64_t i = 0; i < count; ++i) {
      if (panels[i].vecs == 3) AttendPanel<3>(block, begin, n, scale, panels[i], products);
      if (panels[i].vecs == 2) AttendPanel<2>(block, begin, n, scale, panels[i], products);
      if (panels[i].vecs == 1) AttendPanel<1>(block, begin, n, scale, panels[i], products);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    const Panel& p = panels[i];
    for (int64_t c = 0; c < p.vecs; ++c)
      StoreOutput(block, p.first + c * 16, p.vecs, p.state[c], p.o + c * 16);
  }
}

size_t ScratchBytes(int64_t D) {
  return sizeof(float) * (kKeyBlock * kVecs * 16 + kMaxQueries * PaddedWidth(D) * 3 / 2);
}

}  // namespace

const Bf16Kernel& Avx512Bf16Kernel() {
  static constexpr Bf16Kernel kernel{kMaxQueries, ScratchBytes, PackValues, Attend};
  return kernel;
}

}  // namespace nextscale::attention
