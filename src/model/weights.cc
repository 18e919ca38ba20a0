#include "model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nextscale {
namespace {

// Reads tensors of one source into their final form.
class Loader {
 public:
  Loader(const TensorSource& source, const OpContext& ctx) : source_(source), ctx_(ctx) {}

  StatusOr<Tensor> Vector(const std::string& name, const Shape& shape) const {
    return ReadTensor(source_, name, shape, DType::kF32, {ctx_.ledger, Account::kWeights});
  }

  // W [N, K] at `name`, with the bias given.
  StatusOr<LinearWeights> Matrix(const std::string& name, int64_t N, int64_t K, DType dtype,
                                 std::span<const float> bias = {}) const {
    NS_ASSIGN_OR_RETURN(const TensorInfo* info, FindTensor(source_, name, {N, K}));
    const RowReader read = [&, info](int64_t begin, int64_t end, DType type, void* dst) {
      return source_.ReadRows(*info, begin, end, type, dst);
    };
    return LinearWeights::Pack(N, K, dtype, read, bias, ctx_);
  }

  // name.weight [N, K] and name.bias [N].
  StatusOr<LinearWeights> Linear(const std::string& name, int64_t N, int64_t K, DType dtype) const {
    NS_ASSIGN_OR_RETURN(Tensor bias, ReadTensor(source_, name + ".bias", {N}, DType::kF32, {}));
    return Matrix(name + ".weight", N, K, dtype, {bias.data<float>(), static_cast<size_t>(N)});
  }

  // Writes the vector at `name` into part [at, at + C) of a bias.
  Status BiasPart(const std::string& name, int64_t C, std::vector<float>& bias, int64_t at) const {
    NS_ASSIGN_OR_RETURN(Tensor part, ReadTensor(source_, name, {C}, DType::kF32, {}));
    std::copy_n(part.data<float>(), C, bias.begin() + at);
    return absl::OkStatus();
  }

 private:
  const TensorSource& source_;
  const OpContext& ctx_;
};

StatusOr<Tensor> ReadHeadScales(const Loader& load, const TensorSource& source, const std::string& name,
                                int64_t heads) {
  NS_ASSIGN_OR_RETURN(const TensorInfo* info,
                      FindTensor(source, name, {1, -1, -1, 1}));  // 1,H,1,1 or 1,1,H,1
  NS_ASSIGN_OR_RETURN(Tensor scale, load.Vector(name, info->shape));
  if (scale.elements() != heads) {
    return FileError(fmt::format("{}: tensor {} is {}", source.Describe(), name, ToString(info->shape)),
                     fmt::format("expected {} heads, as block 0 has", heads));
  }
  float* s = scale.data<float>();
  for (int64_t h = 0; h < heads; ++h)
    s[h] = std::exp(std::isnan(s[h]) ? s[h] : std::min(s[h], std::log(100.0f)));
  return scale;
}

StatusOr<BlockWeights> LoadBlock(const Loader& load, const TensorSource& source, const TransformerConfig& c,
                                 int64_t n, DType dtype) {
  const std::string name = fmt::format("blocks.{}.", n);
  const int64_t C = c.width;
  BlockWeights b;

  std::vector<float> qkv_bias(3 * C, 0.0f), kv_bias(2 * C, 0.0f);  // keys have no bias
  NS_RETURN_IF_ERROR(load.BiasPart(name + "sa.q_bias", C, qkv_bias, 0));
  NS_RETURN_IF_ERROR(load.BiasPart(name + "sa.v_bias", C, qkv_bias, 2 * C));
  NS_ASSIGN_OR_RETURN(b.qkv, load.Matrix(name + "sa.mat_qkv.weight", 3 * C, C, dtype, qkv_bias));
  NS_ASSIGN_OR_RETURN(b.proj, load.Linear(name + "sa.proj", C, C, dtype));
  NS_ASSIGN_OR_RETURN(b.q_scale_H, ReadHeadScales(load, source, name + "sa.scale_mul_1H11", c.heads));

  NS_ASSIGN_OR_RETURN(b.ca_q, load.Linear(name + "ca.mat_q", C, C, dtype));
  NS_RETURN_IF_ERROR(load.BiasPart(name + "ca.v_bias", C, kv_bias, C));
  NS_ASSIGN_OR_RETURN(b.ca_kv, load.Matrix(name + "ca.mat_kv.weight", 2 * C, C, dtype, kv_bias));
  NS_ASSIGN_OR_RETURN(b.ca_proj, load.Linear(name + "ca.proj", C, C, dtype));
  NS_ASSIGN_OR_RETURN(b.ca_norm_weight, load.Vector(name + "ca_norm.weight", {C}));
  NS_ASSIGN_OR_RETURN(b.ca_norm_bias, load.Vector(name + "ca_norm.bias", {C}));
  if (c.ca_gamma) {
    NS_ASSIGN_OR_RETURN(b.ca_gamma, load.Vector(name + "ca_gamma", {C}));
  }

  if (c.swiglu) {
    NS_ASSIGN_OR_RETURN(b.fcg, load.Matrix(name + "ffn.fcg.weight", c.ffn, C, dtype));
    NS_ASSIGN_OR_RETURN(b.fc1, load.Matrix(name + "ffn.fc1.weight", c.ffn, C, dtype));
    NS_ASSIGN_OR_RETURN(b.fc2, load.Matrix(name + "ffn.fc2.weight", C, c.ffn, dtype));
  } else {
    NS_ASSIGN_OR_RETURN(b.fc1, load.Linear(name + "ffn.fc1", c.ffn, C, dtype));
    NS_ASSIGN_OR_RETURN(b.fc2, load.Linear(name + "ffn.fc2", C, c.ffn, dtype));
  }
  NS_ASSIGN_OR_RETURN(b.ada_gss, load.Vector(name + "ada_gss", {1, 1, 6, C}));
  return b;
}

}  // namespace

StatusOr<TransformerWeights> TransformerWeights::Load(const TensorSource& source, const TransformerConfig& c,
                                                      DType dtype, const OpContext& ctx) {
  const Loader load(source, ctx);
  const int64_t C = c.width;
  constexpr DType kOutside = DType::kF32;
  TransformerWeights w;
  for (int64_t n = 0; n < c.depth; ++n) {
    NS_ASSIGN_OR_RETURN(BlockWeights block, LoadBlock(load, source, c, n, dtype));
    w.blocks.push_back(std::move(block));
  }
  NS_ASSIGN_OR_RETURN(w.word_embed, load.Linear("word_embed", C, c.bits, kOutside));
  NS_ASSIGN_OR_RETURN(w.head_ada, load.Linear("head_nm.ada_lin.1", 2 * C, C, kOutside));
  NS_ASSIGN_OR_RETURN(w.head, load.Linear("head", 2 * c.bits, C, kOutside));
  NS_ASSIGN_OR_RETURN(w.shared_ada, load.Linear("shared_ada_lin.1", 6 * C, C, kOutside));
  NS_ASSIGN_OR_RETURN(w.text_fc1, load.Linear("text_proj_for_ca.0", C, c.text_width, kOutside));
  NS_ASSIGN_OR_RETURN(w.text_fc2, load.Linear("text_proj_for_ca.2", C, C, kOutside));
  std::vector<float> kv_bias(2 * C, 0.0f);
  NS_RETURN_IF_ERROR(load.BiasPart("text_proj_for_sos.ca.v_bias", C, kv_bias, C));
  NS_ASSIGN_OR_RETURN(
      w.pool_kv, load.Matrix("text_proj_for_sos.ca.mat_kv.weight", 2 * C, c.text_width, kOutside, kv_bias));
  NS_ASSIGN_OR_RETURN(w.pool_proj, load.Linear("text_proj_for_sos.ca.proj", C, C, kOutside));
  NS_ASSIGN_OR_RETURN(w.pool_q,
                      load.Vector("text_proj_for_sos.ca.mat_q", {1, c.pool_heads, C / c.pool_heads}));
  NS_ASSIGN_OR_RETURN(w.text_norm, load.Vector("text_norm.weight", {c.text_width}));
  NS_ASSIGN_OR_RETURN(w.cfg_uncond, load.Vector("cfg_uncond", {c.text_rows, c.text_width}));
  NS_ASSIGN_OR_RETURN(w.pos_start, load.Vector("pos_start", {1, 1, C}));
  NS_ASSIGN_OR_RETURN(w.level_embed, load.Vector("lvl_embed.weight", {c.levels, C}));
  return w;
}

int64_t TransformerWeightBytes(const TransformerConfig& c, DType dtype) {
  const int64_t C = c.width, F = c.ffn, T = c.text_width;
  const bool ffn_bias = !c.swiglu;
  int64_t block = PackedLinearBytes(3 * C, C, dtype, true) + 3 * PackedLinearBytes(C, C, dtype, true) +
                  PackedLinearBytes(2 * C, C, dtype, true) + PackedLinearBytes(F, C, dtype, ffn_bias) +
                  PackedLinearBytes(C, F, dtype, ffn_bias) + 4 * (8 * C + c.heads);
  if (c.swiglu) block += PackedLinearBytes(F, C, dtype, false);
  if (c.ca_gamma) block += 4 * C;
  constexpr DType kOutside = DType::kF32;
  const int64_t outside =
      PackedLinearBytes(C, c.bits, kOutside, true) + PackedLinearBytes(2 * C, C, kOutside, true) +
      PackedLinearBytes(2 * c.bits, C, kOutside, true) + PackedLinearBytes(6 * C, C, kOutside, true) +
      PackedLinearBytes(C, T, kOutside, true) + 2 * PackedLinearBytes(C, C, kOutside, true) +
      PackedLinearBytes(2 * C, T, kOutside, true) + 4 * (2 * C + T + c.text_rows * T + c.levels * C);
  return c.depth * block + outside;
}

}  // namespace nextscale
