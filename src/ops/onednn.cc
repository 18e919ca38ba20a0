// Tiles of weights and their products by oneDNN's matmul primitive.
#include "ops/onednn.h"

#include <algorithm>
#include <array>

namespace nextscale::onednn {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

// The row count that weights are laid out for; other counts take the same layout (matmul_test checks that
// they don't lose the fast implementation by it).
constexpr int64_t kManyRows = 256;

dnnl::matmul::primitive_desc Describe(int64_t M, int64_t N, int64_t K, const Desc& weights, DType operand,
                                      const dnnl::engine& engine) {
  const Desc x({M, K}, TypeOf(operand), Tag::ab), y({M, N}, TypeOf(DType::kF32), Tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // else one buffer for all threads
  return {dnnl::matmul::desc(x, weights, y), attributes, engine};
}

// In `packed`, K's elements lie in pairs, [K/2][N][2]: the operands of bf16 instructions.
bool HasPairs(const Desc& packed) { return packed.data.format_desc.blocking.inner_nblks == 3; }

// The layouts that oneDNN takes on our machines: blocks of columns, W transposed in each of them. That is
// [K][64], K padded to 16, or [K/2][64][2] for AVX-512 and AMX; one block of all columns [K][N] for others.
// Returns the columns of a block, 0 if the layout is another.
int64_t BlockColumns(const Desc& packed, int64_t K, int64_t N) {
  const auto& blocking = packed.data.format_desc.blocking;
  const auto inner = [&](int i, int dim, int size) {
    return blocking.inner_idxs[i] == dim && blocking.inner_blks[i] == size;
  };
  if (blocking.inner_nblks == 0) return blocking.strides[0] == N && blocking.strides[1] == 1 ? N : 0;
  if (blocking.inner_nblks > 3 || blocking.inner_nblks < 2 || !inner(0, 0, 16) || !inner(1, 1, 64)) return 0;
  const bool pairs = HasPairs(packed);
  if (pairs && (!inner(2, 0, 2) || K % 2 != 0)) return 0;
  const bool in_order =
      blocking.strides[0] == (pairs ? 2048 : 1024) && blocking.strides[1] == packed.data.padded_dims[0] * 64;
  return in_order ? 64 : 0;
}

// Words per side of the squares that packing moves: whole cache lines are read and written.
constexpr int64_t kSide = 16;

// to[k][n] = from[n][k] for n < columns, k < depth; zero where there is no from: n >= held_columns, k >=
// held_depth.
template <class Word>
void MovePart(const Word* from, int64_t from_stride, int64_t held_columns, int64_t held_depth, Word* to,
              int64_t to_stride, int64_t columns, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t n = 0; n < columns; ++n) {
      to[k * to_stride + n] = n < held_columns && k < held_depth ? from[n * from_stride + k] : Word{0};
    }
  }
}

// The same for a whole square.
template <class Word>
void MoveSquare(const Word* from, int64_t from_stride, Word* to, int64_t to_stride) {
  std::array<std::array<Word, kSide>, kSide> square;
  for (int64_t n = 0; n < kSide; ++n) std::copy_n(from + n * from_stride, kSide, square[n].data());
  for (int64_t k = 0; k < kSide; ++k) {
    for (int64_t n = 0; n < kSide; ++n) to[k * to_stride + n] = square[n][k];
  }
}

// W's rows [N, words], a word being an element or a pair, into blocks [padded_words][block_columns]; zeros
// where the padding is.
template <class Word>
void PackBlocks(const Word* rows, int64_t N, int64_t words, int64_t padded_words, int64_t block_columns,
                Word* to) {
  for (int64_t block = 0; block < N; block += block_columns, to += padded_words * block_columns) {
    for (int64_t n = 0; n < block_columns; n += kSide) {
      const int64_t held_columns = N - block - n, columns = std::min(kSide, block_columns - n);
      for (int64_t k = 0; k < padded_words; k += kSide) {
        const Word* from = rows + (block + n) * words + k;
        Word* square = to + k * block_columns + n;
        if (held_columns >= kSide && words - k >= kSide) {
          MoveSquare(from, words, square, block_columns);
        } else {
          MovePart(from, words, held_columns, words - k, square, block_columns, columns,
                   std::min(kSide, padded_words - k));
        }
      }
    }
  }
}

}  // namespace

dnnl::memory::data_type TypeOf(DType type) {
  NS_CHECK(type == DType::kF32 || type == DType::kBF16, "{}", Name(type));
  return type == DType::kBF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::engine Engine() { return dnnl::engine(dnnl::engine::kind::cpu, 0); }

WeightTile::WeightTile(int64_t N, int64_t K, DType operand, DType stored)
    : N_(N), K_(K), stored_type_(stored) {
  OnOneThread([&] {
    Checked("layout of a weight tile", [&] {
      engine_ = Engine();
      const Desc any({K, N}, TypeOf(operand), Tag::any);
      operand_ = Describe(kManyRows, N, K, any, operand, engine_).weights_desc();
      stored_ = operand_;
      stored_.data.data_type = dnnl::memory::convert_to_c(TypeOf(stored));
      block_columns_ = BlockColumns(stored_, K, N);
      if (block_columns_ > 0) return;
      rows_ = Desc({K, N}, TypeOf(stored), Tag::ba);
      reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine_, rows_, engine_, stored_));
    });
  });
}

void WeightTile::Pack(const void* rows_NK, void* to) const {
  if (block_columns_ > 0) {
    const int64_t in_word = HasPairs(stored_) ? 2 : 1, padded_words = stored_.data.padded_dims[0] / in_word;
    if (in_word * static_cast<int64_t>(SizeOf(stored_type_)) == 4) {
      return PackBlocks(static_cast<const uint32_t*>(rows_NK), N_, K_ / in_word, padded_words, block_columns_,
                        static_cast<uint32_t*>(to));
    }
    return PackBlocks(static_cast<const uint16_t*>(rows_NK), N_, K_, padded_words, block_columns_,
                      static_cast<uint16_t*>(to));
  }
  Checked("packing of a weight tile", [&] {
    dnnl::memory from(rows_, engine_, const_cast<void*>(rows_NK)), packed(stored_, engine_, to);
    dnnl::stream stream(engine_);
    reorder_.execute(stream, from, packed);
  });
}

TileProduct::TileProduct(int64_t M, const WeightTile& weights, DType operand) {
  OnOneThread([&] {
    Checked("product of a tile", [&] {
      engine_ = Engine();
      description_ = Describe(M, weights.N(), weights.K(), weights.operand(), operand, engine_);
      product_ = dnnl::matmul(description_);
    });
  });
}

void TileProduct::Multiply(const void* x, const void* weights, float* y, std::byte* scratch) const {
  Checked("product of a tile", [&] {
    const auto at = [&](const Desc& desc, const void* data) {
      return dnnl::memory(desc, engine_, const_cast<void*>(data));
    };
    dnnl::stream stream(engine_);
    product_.execute(stream, {{DNNL_ARG_SRC, at(description_.src_desc(), x)},
                              {DNNL_ARG_WEIGHTS, at(description_.weights_desc(), weights)},
                              {DNNL_ARG_DST, at(description_.dst_desc(), y)},
                              {DNNL_ARG_SCRATCHPAD, at(description_.scratchpad_desc(), scratch)}});
  });
}

}  // namespace nextscale::onednn
