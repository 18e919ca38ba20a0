// Tiles of weights and their products by oneDNN's matmul primitive.
#include "ops/onednn.h"

#include <algorithm>
#include <array>
#include <cstring>

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

// The layout that oneDNN's AVX-512 and AMX products take: blocks of 64 columns; in a block, the words of 4
// bytes (one f32 or two bf16 of a column) that lie one after another in W's rows lie 64 words apart. K is
// padded.
constexpr int64_t kBlockColumns = 64;
constexpr int64_t kBlockWords = 16;

bool IsBlocksOfWords(const Desc& packed, DType type, int64_t K) {
  const int64_t in_word = 4 / static_cast<int64_t>(SizeOf(type));
  const auto& blocking = packed.data.format_desc.blocking;
  const int64_t padded = packed.data.padded_dims[0], block_elements = kBlockColumns * kBlockWords * in_word;
  return K % in_word == 0 && blocking.inner_nblks == (in_word == 2 ? 3 : 2) && blocking.inner_idxs[0] == 0 &&
         blocking.inner_blks[0] == kBlockWords && blocking.inner_idxs[1] == 1 &&
         blocking.inner_blks[1] == kBlockColumns &&
         (in_word == 1 || (blocking.inner_idxs[2] == 0 && blocking.inner_blks[2] == in_word)) &&
         blocking.strides[0] == block_elements && blocking.strides[1] == padded * kBlockColumns;
}

// to[k * 64 + n] = rows[n * words + k] for 16 columns n and up to 16 words k: reads and writes whole cache
// lines.
void TransposeWords(const uint32_t* rows, int64_t words, int64_t columns, int64_t count, uint32_t* to) {
  std::array<std::array<uint32_t, 16>, 16> square{};
  for (int64_t n = 0; n < columns; ++n) std::memcpy(square[n].data(), rows + n * words, count * 4);
  for (int64_t k = 0; k < 16; ++k) {
    for (int64_t n = 0; n < 16; ++n) to[k * kBlockColumns + n] = square[n][k];
  }
}

// W's rows [N, words] as blocks of words; zeros where the padding is.
void PackBlocksOfWords(const uint32_t* rows, int64_t N, int64_t words, int64_t padded_words, uint32_t* to) {
  for (int64_t block = 0; block < N; block += kBlockColumns, to += padded_words * kBlockColumns) {
    for (int64_t n = block; n < block + kBlockColumns; n += 16) {
      const int64_t columns = std::clamp<int64_t>(N - n, 0, 16);
      for (int64_t k = 0; k < padded_words; k += 16) {
        TransposeWords(rows + n * words + k, words, columns, std::clamp<int64_t>(words - k, 0, 16),
                       to + k * kBlockColumns + (n - block));
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
      blocks_of_words_ = IsBlocksOfWords(stored_, stored, K);
      rows_ = Desc({K, N}, TypeOf(stored), Tag::ba);
      reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine_, rows_, engine_, stored_));
    });
  });
}

void WeightTile::Pack(const void* rows_NK, void* to) const {
  if (blocks_of_words_) {
    const int64_t in_word = 4 / static_cast<int64_t>(SizeOf(stored_type_));
    return PackBlocksOfWords(static_cast<const uint32_t*>(rows_NK), N_, K_ / in_word,
                             stored_.data.padded_dims[0] / in_word, static_cast<uint32_t*>(to));
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
