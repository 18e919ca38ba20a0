// bf16 attention on AMX tiles, transposed: a column is a query.
//   S^T = K Q^T (A: 16 keys x 32 elements, read in place; B: pairs of Q), online softmax down the columns by
//   AVX-512, O^T = V^T P^T (A: 16 elements x 32 keys of packed V; B: pairs of P).
// At D 128 the exponentials of a block of keys take about as long as its products. The tile unit runs behind
// the vector units, so the work is cut into steps, a step for each key block and panel of 32 queries, and the
// softmax of step t is interleaved, in program order, with S^T of step t + 1 and O^T of step t - 1. What a
// step leaves for the next ones stays in L1 (two steps' products and weights: 48 KiB).
#pragma once

#include "ops/attention_avx512-inl.h"
#include "ops/attention_tiles.h"

namespace nextscale::attention {
namespace {

template <class Tiles>
class TileAttention {
 public:
  static constexpr int64_t kMaxQueries = 256;

  static size_t ScratchBytes(int64_t D) {
    const int64_t padded = PaddedWidth(D);
    return kRowBytes * (kMaxPanels * padded * 3 / 2 + 3 * kKeyBlock) + 2 * BounceBytes(padded);
  }
  static void Attend(const QueryBlock& block) { TileAttention(block).Run(); }

 private:
  static constexpr int64_t kKeyBlock = 128;
  static constexpr int64_t kVecs = 2;  // a product makes two columns of tiles at a time: a panel
  static constexpr int64_t kRow = 16 * kVecs;
  static constexpr int64_t kRowBytes = 4 * kRow;
  static constexpr int64_t kMaxPanels = kMaxQueries / kRow;
  static constexpr TileConfig kConfig = FullTiles();

  // 32 queries.
  struct Panel {
    __m512i* q;  // [padded / 2, kRow] pairs
    float* o;    // [padded, kRow] sums
    ColumnState state[kVecs];
  };
  // Keys [begin, begin + n) and one panel.
  struct Work {
    Panel* panel;
    int64_t begin, n;
    float* products;   // [kKeyBlock, kRow]
    __m512i* weights;  // [kKeyBlock / 2, kRow] pairs
    int64_t tiles() const { return DivideUp(n, kKeyTile); }
    int64_t softmax_units() const { return (1 + tiles()) * kVecs; }
  };

  static constexpr int64_t BounceBytes(int64_t padded) {
    return 16 * padded * static_cast<int64_t>(sizeof(Bf16));
  }

  explicit TileAttention(const QueryBlock& block)
      : block_(block),
        padded_(PaddedWidth(block.D)),
        S_(block.keys.total()),
        panels_(DivideUp(block.queries, kRow)),
        scale_(_mm512_set1_ps(__builtin_fabsf(block.scale) * 1.44269504088896341f)) {
    std::byte* free = block.scratch;
    const auto take = [&free](int64_t bytes) {
      std::byte* const at = free;
      free += bytes;
      return at;
    };
    for (int t = 0; t < 2; ++t) {
      products_[t] = reinterpret_cast<float*>(take(kKeyBlock * kRowBytes));
      weights_[t] = reinterpret_cast<__m512i*>(take(kKeyBlock / 2 * kRowBytes));
      bounce_[t] = reinterpret_cast<Bf16*>(take(BounceBytes(padded_)));
    }
    for (int64_t i = 0; i < panels_; ++i) {
      Panel& p = panel_[i];
      p.q = reinterpret_cast<__m512i*>(take(padded_ / 2 * kRowBytes));
      p.o = reinterpret_cast<float*>(take(padded_ * kRowBytes));
      for (int64_t c = 0; c < kVecs; ++c) {
        PackQueries(block, i * kRow + 16 * c, kVecs, p.q + c);
        p.state[c] = EmptyColumn();
      }
    }
  }

  void Run() {
    Tiles::Configure(kConfig);
    const int64_t steps = DivideUp(S_, kKeyBlock) * panels_;
    const Work first = WorkOf(0);
    for (int64_t i = 0; i < first.tiles(); ++i) Products(first, i);
    for (int64_t t = 0; t < steps; ++t) Step(t, steps);
    const Work last = WorkOf(steps - 1);
    for (int64_t i = 0; i < ValueUnits(); ++i) Values(last, i);
    Tiles::Release();
    for (int64_t i = 0; i < panels_; ++i) {
      const Panel& p = panel_[i];
      for (int64_t c = 0; c < kVecs; ++c)
        StoreOutput(block_, i * kRow + 16 * c, kVecs, p.state[c], p.o + 16 * c);
    }
  }

  // Key blocks outermost: a block of K and V serves all panels from L2.
  Work WorkOf(int64_t step) {
    const int64_t begin = step / panels_ * kKeyBlock;
    return {&panel_[step % panels_], begin, Min(kKeyBlock, S_ - begin), products_[step % 2],
            weights_[step % 2]};
  }

  // The softmax of step t, spread evenly among the tile products that are independent of it.
  void Step(int64_t t, int64_t steps) {
    const Work now = WorkOf(t), next = WorkOf(t + 1 < steps ? t + 1 : t), before = WorkOf(t > 0 ? t - 1 : t);
    const int64_t products = t + 1 < steps ? next.tiles() : 0, values = t > 0 ? ValueUnits() : 0;
    __m512 alpha[kVecs];
    bool grown[kVecs];
    int64_t done = 0;
    for (int64_t i = 0; i < now.softmax_units(); ++i) {
      for (; done * now.softmax_units() < (i + 1) * (products + values); ++done) {
        if (done < products) {
          Products(next, done);
        } else {
          Values(before, done - products);
        }
      }
      const int64_t c = i % kVecs;
      if (i < kVecs) {
        grown[c] = UpdateReference(Largest(now, c), scale_, now.panel->state[c], alpha[c]);
      } else {
        Weigh(now, c, i / kVecs - 1);
      }
    }
    for (int64_t c = 0; c < kVecs; ++c) {
      if (now.begin > 0 && grown[c]) MultiplySums(*now.panel, c, alpha[c]);
    }
  }

  int64_t ValueUnits() const { return padded_ / 32; }

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

  // Products of 32 keys, tile `unit` of the work's.
  void Products(const Work& work, int64_t unit) {
    const int64_t s = work.begin + unit * kKeyTile;
    int64_t stride0, stride1;
    const Bf16* k0 = KeyRows(s, bounce_[0], stride0);
    const Bf16* k1 = KeyRows(s + 16, bounce_[1], stride1);
    const __m512i* q = work.panel->q;
    ZeroSums();
    for (int64_t d = 0; d < padded_; d += 32, q += 16 * kVecs)
      MultiplyAdd(k0 + d, stride0, k1 + d, stride1, q);
    StoreSums(work.products + unit * kKeyTile * kRow);
  }

  // Sums of elements [32 unit, 32 unit + 32) take in the work's weighted values.
  void Values(const Work& work, int64_t unit) {
    float* const o = work.panel->o + unit * 32 * kRow;
    const __m512i* p = work.weights;
    const Bf16* v = static_cast<const Bf16*>(block_.packed_v) + work.begin * padded_ + unit * 32 * kKeyTile;
    if (work.begin == 0) {
      ZeroSums();
    } else {
      LoadSums(o);
    }
    for (int64_t t = 0; t < work.tiles(); ++t, p += 16 * kVecs, v += padded_ * kKeyTile) {
      MultiplyAdd(v, 2 * kKeyTile, v + 16 * kKeyTile, 2 * kKeyTile, p);
    }
    StoreSums(o);
  }

  static __m512 Largest(const Work& work, int64_t column) {
    const float* products = work.products + 16 * column;
    __m512 even = _mm512_load_ps(products), odd = even;
    for (int64_t i = 1; i + 1 < work.n; i += 2) {
      odd = _mm512_max_ps(odd, _mm512_load_ps(products + i * kRow));
      even = _mm512_max_ps(even, _mm512_load_ps(products + (i + 1) * kRow));
    }
    return _mm512_max_ps(_mm512_max_ps(even, odd), _mm512_load_ps(products + (work.n - 1) * kRow));
  }

  void Weigh(const Work& work, int64_t column, int64_t tile) {
    const int64_t first = tile * kKeyTile;
    WeighColumn(work.products + first * kRow + 16 * column, Min(kKeyTile, work.n - first), kKeyTile / 2,
                kVecs, scale_, work.panel->state[column], work.weights + first / 2 * kVecs + column);
  }

  void MultiplySums(const Panel& panel, int64_t column, __m512 alpha) const {
    for (int64_t d = 0; d < padded_; ++d) {
      float* o = panel.o + d * kRow + 16 * column;
      _mm512_store_ps(o, _mm512_mul_ps(alpha, _mm512_load_ps(o)));
    }
  }

  // Tiles 0 to 3 are sums, [32, kRow]; 4 and 5 rows of A; 6 and 7 columns of B.
  static void ZeroSums() {
    Tiles::template Zero<0>();
    Tiles::template Zero<1>();
    Tiles::template Zero<2>();
    Tiles::template Zero<3>();
  }
  static void LoadSums(const float* from) {
    Tiles::template Load<0>(from, kRowBytes);
    Tiles::template Load<1>(from + 16, kRowBytes);
    Tiles::template Load<2>(from + 16 * kRow, kRowBytes);
    Tiles::template Load<3>(from + 16 * kRow + 16, kRowBytes);
  }
  static void StoreSums(float* to) {
    Tiles::template Store<0>(to, kRowBytes);
    Tiles::template Store<1>(to + 16, kRowBytes);
    Tiles::template Store<2>(to + 16 * kRow, kRowBytes);
    Tiles::template Store<3>(to + 16 * kRow + 16, kRowBytes);
  }
  static void MultiplyAdd(const Bf16* a0, int64_t stride0, const Bf16* a1, int64_t stride1,
                          const __m512i* b) {
    Tiles::template Load<4>(a0, stride0);
    Tiles::template Load<6>(b, kRowBytes);
    Tiles::template Load<7>(b + 1, kRowBytes);
    Tiles::template MultiplyAdd<0, 4, 6>();
    Tiles::template Load<5>(a1, stride1);
    Tiles::template MultiplyAdd<1, 4, 7>();
    Tiles::template MultiplyAdd<2, 5, 6>();
    Tiles::template MultiplyAdd<3, 5, 7>();
  }

  const QueryBlock& block_;
  const int64_t padded_, S_, panels_;
  const __m512 scale_;
  Panel panel_[kMaxPanels];
  float* products_[2];  // of even and odd steps, as Work's
  __m512i* weights_[2];
  Bf16* bounce_[2];  // [16, padded]
};

template <class Tiles>
constexpr Bf16Kernel TileKernel() {
  using T = TileAttention<Tiles>;
  return {T::kMaxQueries, T::ScratchBytes, PackValues, T::Attend};
}

}  // namespace
}  // namespace nextscale::attention
