// Pieces of bf16 attention in AVX-512 (F, BW, DQ, VL, BF16), for files compiled for it: packing,
// exponentials, softmax down columns, output. Everything is in an unnamed namespace, so that no other file
// can end up with this one's code.
//
// Layouts: a vector column is 16 queries; a panel of W vector columns keeps row i of a matrix at element i *
// 16 * W. "Pairs" are two bf16 consecutive along the dimension that is summed over, the first in the low half
// of 32 bits: what VDPBF16PS and TDPBF16PS multiply.
#pragma once

// GCC 12's own intrinsics look uninitialised to it (GCC bug 105593).
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "ops/attention_internal.h"

namespace nextscale::attention {
namespace {

using Bf16 = uint16_t;

inline int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The lowest n of 16 lanes; n may be out of [0, 16].
inline __mmask16 FirstLanes(int64_t n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}

inline const Bf16* RowOf(const void* const segments[2], const Keys& keys, int64_t s, int64_t D) {
  const bool second = s >= keys.length[0];
  return static_cast<const Bf16*>(segments[second]) + (second ? s - keys.length[0] : s) * D;
}

// Transposes a 16 x 16 matrix of 32-bit elements, a vector a row.
inline void Transpose(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // Now lane group g of r[4 a + b] holds column 4 g + b of rows 4 a to 4 a + 3.
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) {
    const __m512i even01 = _mm512_shuffle_i32x4(r[b], r[4 + b], 0x88),
                  odd01 = _mm512_shuffle_i32x4(r[b], r[4 + b], 0xdd);
    const __m512i even23 = _mm512_shuffle_i32x4(r[8 + b], r[12 + b], 0x88);
    const __m512i odd23 = _mm512_shuffle_i32x4(r[8 + b], r[12 + b], 0xdd);
    t[b] = _mm512_shuffle_i32x4(even01, even23, 0x88);
    t[8 + b] = _mm512_shuffle_i32x4(even01, even23, 0xdd);
    t[4 + b] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
    t[12 + b] = _mm512_shuffle_i32x4(odd01, odd23, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

// Queries [q0, q0 + 16) of the block into one vector column of `pairs` [PaddedWidth(D) / 2, panel], negated
// if the scale is negative; pads are zeros.
inline void PackQueries(const QueryBlock& block, int64_t q0, int64_t vecs, __m512i* pairs) {
  const __m512i sign = _mm512_set1_epi32(block.scale < 0 ? static_cast<int>(0x80008000u) : 0);
  for (int64_t d = 0; d < PaddedWidth(block.D); d += 32) {
    const __mmask16 width = FirstLanes((block.D - d) / 2);
    __m512i r[16];
    for (int64_t i = 0; i < 16; ++i) {
      const Bf16* q = static_cast<const Bf16*>(block.q) + (q0 + i) * block.stride + d;
      r[i] = q0 + i < block.queries ? _mm512_maskz_loadu_epi32(width, q) : _mm512_setzero_si512();
    }
    Transpose(r);
    for (int64_t i = 0; i < 16; ++i)
      _mm512_store_si512(pairs + (d / 2 + i) * vecs, _mm512_xor_si512(r[i], sign));
  }
}

// Bf16Kernel::pack_v: tile t is rows [32 t, 32 t + 32) of V transposed, [PaddedWidth(D)][32].
inline void PackValues(const Keys& keys, int64_t D, int64_t first_tile, int64_t tiles, void* packed) {
  const int64_t padded = PaddedWidth(D), S = keys.total();
  for (int64_t t = first_tile; t < first_tile + tiles; ++t) {
    __m512i* out = static_cast<__m512i*>(packed) + t * padded;
    for (int64_t d = 0; d < padded; d += 16) {
      const __mmask16 width = FirstLanes(D - d);
      __m512i r[16];
      for (int64_t i = 0; i < 16; ++i) {
        __m512i half[2];
        for (int64_t j = 0; j < 2; ++j) {
          const int64_t s = t * kKeyTile + 2 * i + j;
          const __mmask16 lanes = s < S ? width : 0;
          const Bf16* v = s < S ? RowOf(keys.v, keys, s, D) + d : nullptr;
          half[j] = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, v));
        }
        r[i] = _mm512_or_si512(half[0], _mm512_slli_epi32(half[1], 16));
      }
      Transpose(r);
      for (int64_t i = 0; i < 16; ++i) _mm512_store_si512(out + d + i, r[i]);
    }
  }
}

// 2^t to 1e-4 relative (a fortieth of bf16's rounding) for t up to 127; 0 below -125, where results would be
// subnormal; NaN stays NaN.
inline __m512 Exp2(__m512 t) {
  // 1.5 * 2^23: adding it rounds to an integer, left in the low bits.
  const __m512 magic = _mm512_set1_ps(12582912.0f);
  const __m512 shifted = _mm512_add_ps(t, magic);
  const __m512 r = _mm512_sub_ps(t, _mm512_sub_ps(shifted, magic));
  // Minimax in relative error on [-1/2, 1/2] (Remez).
  __m512 p = _mm512_set1_ps(0.0551716691f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.242611122f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.693260985f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.999928074f));
  const __mmask16 keep = _mm512_cmp_ps_mask(t, _mm512_set1_ps(-125.0f), _CMP_NLT_UQ);
  const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_castsi512_ps(_mm512_maskz_add_epi32(keep, _mm512_castps_si512(p), exponent));
}

// Pairs of one row (low) and the next.
inline __m512i PackPairs(__m512 low, __m512 high) {
  const __m512i interleave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                              23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(interleave, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

// What a vector column remembers from key block to key block. Weights are 2^(logit * log2(e) - reference).
struct alignas(64) ColumnState {
  __m512 reference, sum;
};
inline ColumnState EmptyColumn() { return {_mm512_set1_ps(-__builtin_inff()), _mm512_setzero_ps()}; }

// Takes the largest of a block's products into account. Returns true if sums so far must be multiplied by
// alpha. The reference follows the maximum only where that has grown by 2^8: weights stay far from overflow,
// and sums are hardly ever multiplied.
inline bool UpdateReference(__m512 largest, __m512 scale, ColumnState& state, __m512& alpha) {
  const __m512 exponent = _mm512_mul_ps(largest, scale);
  const __mmask16 grown =
      _mm512_cmp_ps_mask(exponent, _mm512_add_ps(state.reference, _mm512_set1_ps(8.0f)), _CMP_GT_OQ);
  const __m512 reference = _mm512_mask_mov_ps(state.reference, grown, exponent);
  alpha = _mm512_mask_mov_ps(_mm512_set1_ps(1.0f), grown, Exp2(_mm512_sub_ps(state.reference, reference)));
  state.reference = reference;
  state.sum = _mm512_mul_ps(state.sum, alpha);
  return grown != 0;
}

// Products of keys [0, n) with a vector column of queries, rows `vecs` vectors apart, become pairs of
// weights, rows `vecs` vectors apart: [DivideUp(n, 2)] and then rows of zeros up to `pairs`. May be done in
// place.
inline void WeighColumn(const float* products, int64_t n, int64_t pairs, int64_t vecs, __m512 scale,
                        ColumnState& state, __m512i* out) {
  const __m512 reference = state.reference;
  __m512 even = state.sum, odd = _mm512_setzero_ps();
  const int64_t row = 16 * vecs;
  int64_t i = 0;
  for (; i < n / 2; ++i) {
    const __m512 low = Exp2(_mm512_fmsub_ps(_mm512_load_ps(products + 2 * i * row), scale, reference));
    const __m512 high = Exp2(_mm512_fmsub_ps(_mm512_load_ps(products + (2 * i + 1) * row), scale, reference));
    even = _mm512_add_ps(even, low);
    odd = _mm512_add_ps(odd, high);
    _mm512_store_si512(out + i * vecs, PackPairs(low, high));
  }
  if (n % 2) {
    const __m512 low = Exp2(_mm512_fmsub_ps(_mm512_load_ps(products + 2 * i * row), scale, reference));
    even = _mm512_add_ps(even, low);
    _mm512_store_si512(out + i * vecs, PackPairs(low, _mm512_setzero_ps()));
    ++i;
  }
  for (; i < pairs; ++i) _mm512_store_si512(out + i * vecs, _mm512_setzero_si512());
  state.sum = _mm512_add_ps(even, odd);
}

// Writes queries [q0, q0 + 16) of the block from one vector column of the sums `o` [PaddedWidth(D), panel],
// divided by the weights' sum.
inline void StoreOutput(const QueryBlock& block, int64_t q0, int64_t vecs, const ColumnState& state,
                        const float* o) {
  const __m512 factor = _mm512_div_ps(_mm512_set1_ps(1.0f), state.sum);
  for (int64_t d = 0; d < block.D; d += 16) {
    const __mmask16 width = FirstLanes(block.D - d);
    __m512i r[16];
    for (int64_t i = 0; i < 16; ++i) {
      r[i] = _mm512_castps_si512(_mm512_mul_ps(factor, _mm512_load_ps(o + (d + i) * 16 * vecs)));
    }
    Transpose(r);
    for (int64_t i = 0; i < Min(16, block.queries - q0); ++i) {
      Bf16* out = static_cast<Bf16*>(block.o) + (q0 + i) * block.stride + d;
      _mm256_mask_storeu_epi16(out, width, (__m256i)_mm512_cvtneps_pbh(_mm512_castsi512_ps(r[i])));
    }
  }
}

}  // namespace
}  // namespace nextscale::attention
