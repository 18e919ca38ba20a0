// Tiles of weights and their products by oneDNN's matmul primitive.
#include "ops/onednn.h"

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
      rows_ = Desc({K, N}, TypeOf(stored), Tag::ba);
      reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine_, rows_, engine_, stored_));
    });
  });
}

void WeightTile::Pack(const void* rows_NK, void* to) const {
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
