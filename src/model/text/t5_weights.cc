#include "model/text/t5_weights.h"

#include <fmt/format.h>

namespace nextscale {
namespace {

struct MatrixName {
  LinearWeights T5Layer::*weights;
  std::string name;
  int64_t N, K;
};

std::vector<MatrixName> Matrices(const T5Config& c, int64_t n) {
  const std::string attention = T5AttentionName(n), ffn = T5FeedForwardName(n);
  const int64_t inner = c.heads * c.head_dim;
  return {{&T5Layer::q, attention + "q.weight", inner, c.width},
          {&T5Layer::k, attention + "k.weight", inner, c.width},
          {&T5Layer::v, attention + "v.weight", inner, c.width},
          {&T5Layer::o, attention + "o.weight", c.width, inner},
          {&T5Layer::wi_0, ffn + "wi_0.weight", c.ffn, c.width},
          {&T5Layer::wi_1, ffn + "wi_1.weight", c.ffn, c.width},
          {&T5Layer::wo, ffn + "wo.weight", c.width, c.ffn}};
}

std::string NormName(int64_t layer, int part) { return T5LayerName(layer, part) + ".layer_norm.weight"; }

}  // namespace

std::string T5LayerName(int64_t layer, int part) {
  return fmt::format("encoder.block.{}.layer.{}", layer, part);
}
std::string T5AttentionName(int64_t layer) { return T5LayerName(layer, 0) + ".SelfAttention."; }
std::string T5FeedForwardName(int64_t layer) { return T5LayerName(layer, 1) + ".DenseReluDense."; }

Status CheckT5Layer(const TensorSource& source, const T5Config& config, int64_t n) {
  for (const MatrixName& m : Matrices(config, n))
    NS_RETURN_IF_ERROR(FindTensor(source, m.name, {m.N, m.K}).status());
  for (const int part : {0, 1})
    NS_RETURN_IF_ERROR(FindTensor(source, NormName(n, part), {config.width}).status());
  return absl::OkStatus();
}

Status T5Layer::Load(const TensorSource& source, const T5Config& config, int64_t n, DType dtype,
                     const OpContext& ctx) {
  for (const MatrixName& m : Matrices(config, n)) {
    NS_ASSIGN_OR_RETURN(const TensorInfo* info, FindTensor(source, m.name, {m.N, m.K}));
    const RowReader read = [&, info](int64_t begin, int64_t end, DType type, void* dst) {
      return source.ReadRows(*info, begin, end, type, dst);
    };
    LinearWeights& weights = this->*m.weights;
    if (weights.empty()) {
      NS_ASSIGN_OR_RETURN(weights, LinearWeights::Pack(m.N, m.K, dtype, read, {}, ctx));
    } else {
      NS_RETURN_IF_ERROR(weights.Repack(read, {}, ctx));
    }
  }
  const MemoryUse use = {ctx.ledger, Account::kWeights};
  NS_ASSIGN_OR_RETURN(attention_norm, ReadTensor(source, NormName(n, 0), {config.width}, DType::kF32, use));
  NS_ASSIGN_OR_RETURN(ffn_norm, ReadTensor(source, NormName(n, 1), {config.width}, DType::kF32, use));
  return absl::OkStatus();
}

int64_t T5LayerBytes(const T5Config& config, DType dtype) {
  int64_t bytes = 3 * config.width *
                  static_cast<int64_t>(sizeof(float));  // two norms, one of them twice while it is read
  for (const MatrixName& m : Matrices(config, 0)) bytes += PackedLinearBytes(m.N, m.K, dtype, false);
  return bytes;
}

}  // namespace nextscale
