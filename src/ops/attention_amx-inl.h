// bf16 attention on AMX tiles, transposed: a column is a query.
//   S^T = K Q^T (A: 16 keys x 32 elements, read in place; B: pairs of Q), online softmax down the columns by
//   AVX-512, O^T = V^T P^T (A: 16 elements x 32 keys of packed V; B: pairs of P).
// At D 128 the exponentials of a block of keys take about as long as its products. The tile unit runs behind
// the vector units, so the softmax of key block j is interleaved, in program order, with S^T of block j + 1
// and O^T of block j - 1.
#pragma once

#include "ops/attention_avx512-inl.h"
#include "ops/attention_tiles.h"

namespace nextscale::attention {
namespace {

template <class Tiles>
class TileAttention {
 public:
  static constexpr int64_t kMaxQueries = 128;

  static size_t ScratchBytes(int64_t D) {
    const int64_t vecs = kMaxQueries / 16;
    return 64 * vecs * (PaddedWidth(D) * 3 / 2 + 3 * kKeyBlock) +
           2 * kBounceRows * PaddedWidth(D) * sizeof(Bf16);
  }
  static void Attend(const QueryBlock& block) { TileAttention(block).Run(); }

 private:
  static constexpr int64_t kKeyBlock = 256;
  static constexpr int64_t kBounceRows = 16;

  explicit TileAttention(const QueryBlock& block)
      : block_(block),
        padded_(PaddedWidth(block.D)),
        S_(block.keys.total()),
        vecs_(DivideUp(block.queries, 32) * 2),  // a product makes two columns at a time
        row_bytes_(vecs_ * 64),
        scale_(_mm512_set1_ps(__builtin_fabsf(block.scale) * 1.44269504088896341f)) {
    std::byte* free = block.scratch;
    const auto take = [&free](int64_t bytes) {
      std::byte* const at = free;
      free += bytes;
      return at;
    };
    q_ = reinterpret_cast<__m512i*>(take(padded_ / 2 * row_bytes_));
    o_ = reinterpret_cast<float*>(take(padded_ * row_bytes_));
    for (int i = 0; i < 2; ++i) {
      products_[i] = reinterpret_cast<float*>(take(kKeyBlock * row_bytes_));
      weights_[i] = reinterpret_cast<__m512i*>(take(kKeyBlock / 2 * row_bytes_));
      bounce_[i] = reinterpret_cast<Bf16*>(take(kBounceRows * padded_ * static_cast<int64_t>(sizeof(Bf16))));
    }
  }

  void Run() {
    for (int64_t c = 0; c < vecs_; ++c) {
      PackQueries(block_, 16 * c, vecs_, q_ + c);
      state_[c] = EmptyColumn();
    }
    Tiles::Configure(kConfig);
    const int64_t blocks = DivideUp(S_, kKeyBlock);
    for (int64_t i = 0; i < ProductUnits(0); ++i) Products(0, i);
    for (int64_t j = 0; j < blocks; ++j) Step(j, blocks);
    for (int64_t i = 0; i < ValueUnits(); ++i) Values(blocks - 1, i);
    Tiles::Release();
    for (int64_t c = 0; c < vecs_; ++c) StoreOutput(block_, 16 * c, vecs_, state_[c], o_ + 16 * c);
  }

  // The softmax of key block j, spread evenly among the tile products that are independent of it.
  void Step(int64_t j, int64_t blocks) {
    const int64_t products = j + 1 < blocks ? ProductUnits(j + 1) : 0, values = j > 0 ? ValueUnits() : 0;
    const int64_t softmax = vecs_ * (1 + TilesOf(j));
    int64_t done = 0;
    for (int64_t i = 0; i < softmax; ++i) {
      for (; done * softmax < (i + 1) * (products + values); ++done) {
        if (done < products) {
          Products(j + 1, done);
        } else {
          Values(j - 1, done - products);
        }
      }
      Softmax(j, i / (1 + TilesOf(j)), i % (1 + TilesOf(j)));
    }
    if (j > 0) MultiplySums();
  }

  int64_t KeysOf(int64_t j) const { return Min(kKeyBlock, S_ - j * kKeyBlock); }
  int64_t TilesOf(int64_t j) const { return DivideUp(KeysOf(j), kKeyTile); }
  int64_t ProductUnits(int64_t j) const { return TilesOf(j) * vecs_ / 2; }
  int64_t ValueUnits() const { return padded_ / 32 * vecs_ / 2; }

  // Where to load the tile rows of keys [s, s + 16) from: in place, or a copy if they are not rows of full
  // tiles. Past the last key that one is repeated: it doesn't change the maximum.
  const Bf16* KeyRows(int64_t s, Bf16* bounce, int64_t& stride) const {
    const Keys& keys = block_.keys;
    const int64_t segment_end = s < keys.length[0] ? keys.length[0] : S_;
    if (s + 16 <= segment_end && block_.D == padded_) {
      stride = 2 * block_.D;
      return RowOf(keys.k, keys, s, block_.D);
    }
    for (int64_t i = 0; i < 16; ++i) {
      const Bf16* row = RowOf(keys.k, keys, Min(s + i, S_ - 1), block_.D);
      for (int64_t d = 0; d < padded_; d += 32) {
        const __mmask16 width = FirstLanes((block_.D - d) / 2);
        _mm512_store_si512(bounce + i * padded_ + d, _mm512_maskz_loadu_epi32(width, row + d));
      }
    }
    stride = 2 * padded_;
    return bounce;
  }

  // Products of 32 keys and 32 queries.
  void Products(int64_t j, int64_t unit) {
    const int64_t pairs_of_columns = vecs_ / 2, tile = unit / pairs_of_columns,
                  column = unit % pairs_of_columns * 2;
    const int64_t s = j * kKeyBlock + tile * kKeyTile;
    int64_t stride0, stride1;
    const Bf16* k0 = KeyRows(s, bounce_[0], stride0);
    const Bf16* k1 = KeyRows(s + 16, bounce_[1], stride1);
    const __m512i* q = q_ + column;
    Tiles::template Zero<0>();
    Tiles::template Zero<1>();
    Tiles::template Zero<2>();
    Tiles::template Zero<3>();
    for (int64_t d = 0; d < padded_; d += 32, q += 16 * vecs_)
      MultiplyAdd(k0 + d, stride0, k1 + d, stride1, q);
    StoreSums(products_[j % 2] + (tile * kKeyTile * vecs_ + column) * 16);
  }

  // 32 elements of 32 queries' sums take in the weighted values of block j.
  void Values(int64_t j, int64_t unit) {
    const int64_t pairs_of_columns = vecs_ / 2, d = unit / pairs_of_columns * 32,
                  column = unit % pairs_of_columns * 2;
    float* const o = o_ + (d * vecs_ + column) * 16;
    const __m512i* p = weights_[j % 2] + column;
    const Bf16* v =
        static_cast<const Bf16*>(block_.packed_v) + (j * (kKeyBlock / kKeyTile) * padded_ + d) * kKeyTile;
    if (j == 0) {
      Tiles::template Zero<0>();
      Tiles::template Zero<1>();
      Tiles::template Zero<2>();
      Tiles::template Zero<3>();
    } else {
      Tiles::template Load<0>(o, row_bytes_);
      Tiles::template Load<1>(o + 16, row_bytes_);
      Tiles::template Load<2>(o + 256 * vecs_, row_bytes_);
      Tiles::template Load<3>(o + 256 * vecs_ + 16, row_bytes_);
    }
    for (int64_t t = 0; t < TilesOf(j); ++t, p += 16 * vecs_, v += padded_ * kKeyTile) {
      MultiplyAdd(v, 2 * kKeyTile, v + 16 * kKeyTile, 2 * kKeyTile, p);
    }
    StoreSums(o);
  }

  // Sums of 2 x 2 tiles: rows 0 and 1 of A (32 elements a row) by two columns of pairs.
  void MultiplyAdd(const Bf16* a0, int64_t stride0, const Bf16* a1, int64_t stride1, const __m512i* b) {
    Tiles::template Load<4>(a0, stride0);
    Tiles::template Load<6>(b, row_bytes_);
    Tiles::template Load<7>(b + 1, row_bytes_);
    Tiles::template MultiplyAdd<0, 4, 6>();
    Tiles::template Load<5>(a1, stride1);
    Tiles::template MultiplyAdd<1, 4, 7>();
    Tiles::template MultiplyAdd<2, 5, 6>();
    Tiles::template MultiplyAdd<3, 5, 7>();
  }

  void StoreSums(float* to) {
    Tiles::template Store<0>(to, row_bytes_);
    Tiles::template Store<1>(to + 16, row_bytes_);
    Tiles::template Store<2>(to + 256 * vecs_, row_bytes_);
    Tiles::template Store<3>(to + 256 * vecs_ + 16, row_bytes_);
  }

  // Part 0 of a column's softmax finds the maximum, part t + 1 weighs the keys of tile t.
  void Softmax(int64_t j, int64_t column, int64_t part) {
    const int64_t n = KeysOf(j), row = 16 * vecs_;
    const float* products = products_[j % 2] + 16 * column;
    if (part == 0) {
      __m512 largest[2] = {_mm512_load_ps(products), _mm512_load_ps(products)};
      for (int64_t i = 1; i < n; ++i)
        largest[i % 2] = _mm512_max_ps(largest[i % 2], _mm512_load_ps(products + i * row));
      grown_[column] =
          UpdateReference(_mm512_max_ps(largest[0], largest[1]), scale_, state_[column], alpha_[column]);
      return;
    }
    const int64_t first = (part - 1) * kKeyTile;
    WeighColumn(products + first * row, Min(kKeyTile, n - first), kKeyTile / 2, vecs_, scale_, state_[column],
                weights_[j % 2] + first / 2 * vecs_ + column);
  }

  // Puts the sums of all blocks before the one just weighed on its scale.
  void MultiplySums() {
    for (int64_t c = 0; c < vecs_; ++c) {
      if (!grown_[c]) continue;
      for (int64_t d = 0; d < padded_; ++d) {
        float* o = o_ + (d * vecs_ + c) * 16;
        _mm512_store_ps(o, _mm512_mul_ps(alpha_[c], _mm512_load_ps(o)));
      }
    }
  }

  static constexpr TileConfig kConfig = FullTiles();

  const QueryBlock& block_;
  const int64_t padded_, S_;
  const int64_t vecs_;       // columns, even
  const int64_t row_bytes_;  // of a panel
  const __m512 scale_;
  __m512i* q_;           // [padded / 2, panel] pairs
  float* o_;             // [padded, panel] sums
  float* products_[2];   // [kKeyBlock, panel], of blocks j and j + 1
  __m512i* weights_[2];  // [kKeyBlock / 2, panel] pairs, of blocks j - 1 and j
  Bf16* bounce_[2];      // [16, padded]
  ColumnState state_[kMaxQueries / 16];
  __m512 alpha_[kMaxQueries / 16];
  bool grown_[kMaxQueries / 16];
};

template <class Tiles>
constexpr Bf16Kernel TileKernel() {
  using T = TileAttention<Tiles>;
  return {T::kMaxQueries, T::ScratchBytes, PackValues, T::Attend};
}

}  // namespace
}  // namespace nextscale::attention
