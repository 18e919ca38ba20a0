// T5 v1.1's encoder (oracle/var_infinity.py, T5Encoder.forward): the residual stream and attention in f32,
// products' operands in one type.
#include "model/text/t5_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "model/text/t5_weights.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/norm.h"
#include "ops/rope2d.h"

namespace nextscale {
namespace {

// Prompts of one length go through the products together, up to so many rows: it bounds the memory of a
// layer's values.
constexpr int64_t kRowsAtOnce = 512;

int64_t PromptsAtOnce(int64_t length) { return std::max<int64_t>(1, kRowsAtOnce / length); }
int64_t MostRows(int64_t longest) { return std::max(kRowsAtOnce, longest); }

// Prompts of equal length n.
struct Group {
  std::vector<size_t> prompts;
  int64_t n = 0;
  Tensor x;  // residual stream, [prompts * n, width] f32
  int64_t rows() const { return static_cast<int64_t>(prompts.size()) * n; }
};

std::vector<Group> GroupByLength(const std::vector<std::vector<int32_t>>& prompts) {
  std::map<int64_t, std::vector<size_t>> by_length;
  for (size_t i = 0; i < prompts.size(); ++i) by_length[static_cast<int64_t>(prompts[i].size())].push_back(i);
  std::vector<Group> groups;
  for (const auto& [n, members] : by_length) {
    const size_t most = static_cast<size_t>(PromptsAtOnce(n));
    for (size_t at = 0; at < members.size(); at += most) {
      Group& group = groups.emplace_back();
      group.n = n;
      group.prompts.assign(members.begin() + at, members.begin() + std::min(at + most, members.size()));
    }
  }
  return groups;
}

// Position biases: one for each head and distance, the same in all layers.
class PositionBias {
 public:
  static StatusOr<PositionBias> Read(const TensorSource& source, const T5Config& c, int64_t longest,
                                     const OpContext& ctx) {
    const MemoryUse use = {ctx.ledger, Account::kActivations};
    NS_ASSIGN_OR_RETURN(const Tensor by_bucket,
                        ReadTensor(source, kT5RelativeBias, {c.buckets, c.heads}, DType::kF32, use));
    PositionBias bias(c.heads, longest, use);
    for (int64_t d = -(longest - 1); d < longest; ++d) {
      const float* row = by_bucket.data<float>() + RelativeBucket(d, c.buckets, c.max_distance) * c.heads;
      for (int64_t h = 0; h < c.heads; ++h)
        bias.by_distance_.data<float>()[h * bias.distances() + d + longest - 1] = row[h];
    }
    return bias;
  }

  // [H, n, n] for attention; stays until the next call.
  const float* For(int64_t n) {
    if (n == filled_) return bias_HLS_.data<float>();
    filled_ = n;
    ParallelFor(heads_, [&](int64_t h, int) {
      const float* zero = by_distance_.data<float>() + h * distances() + longest_ - 1;  // of key - query = 0
      for (int64_t query = 0; query < n; ++query)
        std::copy_n(zero - query, n, bias_HLS_.data<float>() + (h * n + query) * n);
    });
    return bias_HLS_.data<float>();
  }

 private:
  PositionBias(int64_t heads, int64_t longest, MemoryUse use)
      : heads_(heads),
        longest_(longest),
        by_distance_(DType::kF32, {heads, 2 * longest - 1}, use),
        bias_HLS_(DType::kF32, {heads, longest, longest}, use) {}
  int64_t distances() const { return 2 * longest_ - 1; }

  int64_t heads_, longest_, filled_ = 0;
  Tensor by_distance_, bias_HLS_;
};

// A layer's values, for the largest group; R rows of it.
class LayerValues {
 public:
  LayerValues(const T5Config& c, DType dtype, int64_t rows, const OpContext& ctx) {
    const MemoryUse use = {ctx.ledger, Account::kActivations};
    const int64_t inner = c.heads * c.head_dim;
    normed_ = Tensor(dtype, {rows, c.width}, use);
    for (Tensor* t : {&q_, &kv_rows_, &k_, &v_, &attended_}) *t = Tensor(DType::kF32, {rows, inner}, use);
    if (dtype != DType::kF32) attended_cast_ = Tensor(dtype, {rows, inner}, use);
    gate_ = Tensor(dtype, {rows, c.ffn}, use);
    up_ = Tensor(dtype, {rows, c.ffn}, use);
  }
  View normed(int64_t R) { return normed_.view().Rows(0, R); }
  View q(int64_t R) { return q_.view().Rows(0, R); }
  View kv_rows(int64_t R) { return kv_rows_.view().Rows(0, R); }
  View k(int64_t R) { return k_.view().Rows(0, R); }
  View v(int64_t R) { return v_.view().Rows(0, R); }
  View attended(int64_t R) { return attended_.view().Rows(0, R); }
  View gate(int64_t R) { return gate_.view().Rows(0, R); }
  View up(int64_t R) { return up_.view().Rows(0, R); }
  // `attended` as an operand.
  ConstView AttendedOperand(int64_t R, const OpContext& ctx) {
    if (attended_cast_.empty()) return attended(R);
    Cast(attended(R), attended_cast_.view().Rows(0, R), ctx);
    return attended_cast_.view().Rows(0, R);
  }

 private:
  Tensor normed_, q_, kv_rows_, k_, v_, attended_, attended_cast_, gate_, up_;
};

class Encoder {
 public:
  Encoder(const TensorSource& source, const T5Config& config, DType dtype, const OpContext& ctx)
      : source_(source), c_(config), dtype_(dtype), ctx_(ctx) {}

  StatusOr<std::vector<Tensor>> Run(const std::vector<std::vector<int32_t>>& prompts,
                                    const CancelToken* cancel) {
    std::vector<Group> groups = GroupByLength(prompts);
    if (groups.empty()) return std::vector<Tensor>();
    for (Group& group : groups) NS_RETURN_IF_ERROR(Embed(prompts, group));
    {
      const int64_t longest = groups.back().n;
      NS_ASSIGN_OR_RETURN(PositionBias bias, PositionBias::Read(source_, c_, longest, ctx_));
      LayerValues values(c_, dtype_, MostRowsOf(groups), ctx_);
      T5Layer layer;
      for (int64_t n = 0; n < c_.layers; ++n) {
        NS_RETURN_IF_ERROR(layer.Load(source_, c_, n, dtype_, ctx_));
        for (Group& group : groups) {
          if (cancel && cancel->cancelled()) return Interrupted();
          NS_RETURN_IF_ERROR(RunLayer(layer, n, bias, values, group));
        }
      }
    }
    return Finish(groups, prompts.size());
  }

 private:
  static int64_t MostRowsOf(const std::vector<Group>& groups) {
    int64_t most = 0;
    for (const Group& group : groups) most = std::max(most, group.rows());
    return most;
  }

  Status Embed(const std::vector<std::vector<int32_t>>& prompts, Group& group) const {
    NS_ASSIGN_OR_RETURN(const TensorInfo* embedding,
                        FindTensor(source_, kT5Embedding, {c_.vocabulary, c_.width}));
    group.x = Tensor(DType::kF32, {group.rows(), c_.width}, {ctx_.ledger, Account::kActivations});
    float* row = group.x.data<float>();
    for (const size_t prompt : group.prompts) {
      for (const int32_t id : prompts[prompt]) {
        NS_RETURN_IF_ERROR(source_.ReadRows(*embedding, id, id + 1, DType::kF32, row));
        row += c_.width;
      }
    }
    return absl::OkStatus();
  }

  // x += o(attention(norm(x))); x += wo(gelu(wi_0 y) * wi_1 y), y = norm(x).
  Status RunLayer(const T5Layer& layer, int64_t n, PositionBias& bias, LayerValues& values,
                  Group& group) const {
    const int64_t R = group.rows();
    const View x = group.x.view(), y = values.normed(R);
    if (!RmsNorm(x, y, layer.attention_norm.data<float>(), c_.eps, ctx_)) {
      return NotFinite(n == 0 ? std::string(kT5Embedding) : T5LayerName(n - 1, 1));
    }
    Attend(layer, y, bias, values, group);
    Product(layer.o, values.AttendedOperand(R, ctx_), x, group.n, /*accumulate=*/true);

    if (!RmsNorm(x, y, layer.ffn_norm.data<float>(), c_.eps, ctx_)) return NotFinite(T5LayerName(n, 0));
    Product(layer.wi_0, y, values.gate(R), group.n);
    Product(layer.wi_1, y, values.up(R), group.n);
    GeluMul(values.gate(R), values.up(R), values.gate(R), ctx_);
    Product(layer.wo, values.gate(R), x, group.n, /*accumulate=*/true);
    return absl::OkStatus();
  }

  // values.attended = softmax(q k^T + bias) v of each prompt by itself.
  void Attend(const T5Layer& layer, ConstView y, PositionBias& bias, LayerValues& values,
              const Group& group) const {
    const int64_t R = group.rows(), n = group.n, B = static_cast<int64_t>(group.prompts.size()), H = c_.heads,
                  D = c_.head_dim;
    Product(layer.q, y, values.q(R), n);
    const auto project = [&](const LinearWeights& weights, View to_BHnD) {
      Product(weights, y, values.kv_rows(R), n);
      for (int64_t b = 0; b < B; ++b) {
        SplitHeads(values.kv_rows(R).Rows(b * n, n), to_BHnD.Rows(b * n, n).Reshape({1, H, n, D}), 1, H, D,
                   ctx_);
      }
    };
    project(layer.k, values.k(R));
    project(layer.v, values.v(R));
    std::vector<HeadKv> kv_BH;
    for (int64_t i = 0; i < B * H; ++i)
      kv_BH.push_back({values.k(R).data<float>() + i * n * D, values.v(R).data<float>() + i * n * D, n});
    Attention({.q = values.q(R),
               .o = values.attended(R),
               .B = B,
               .L = n,
               .H = H,
               .D = D,
               .current_BH = kv_BH,
               .bias_HLS = bias.For(n)},
              ctx_);
  }

  void Product(const LinearWeights& weights, ConstView x, View y, int64_t n, bool accumulate = false) const {
    Linear(weights, {.x = x, .y = y, .rows_per_stream = n, .accumulate = accumulate}, ctx_);
  }

  StatusOr<std::vector<Tensor>> Finish(std::vector<Group>& groups, size_t prompts) const {
    NS_ASSIGN_OR_RETURN(const Tensor weight, ReadTensor(source_, kT5FinalNorm, {c_.width}, DType::kF32,
                                                        {ctx_.ledger, Account::kActivations}));
    if (!std::all_of(weight.data<float>(), weight.data<float>() + c_.width,
                     [](float w) { return std::isfinite(w); })) {
      return NotFinite(std::string(kT5FinalNorm));
    }
    std::vector<Tensor> out(prompts);
    for (Group& group : groups) {
      for (size_t b = 0; b < group.prompts.size(); ++b) {
        Tensor& rows = out[group.prompts[b]] =
            Tensor(DType::kF32, {group.n, c_.width}, {ctx_.ledger, Account::kActivations});
        const ConstView x = group.x.view().Rows(static_cast<int64_t>(b) * group.n, group.n);
        if (!RmsNorm(x, rows.view(), weight.data<float>(), c_.eps, ctx_)) {
          return NotFinite(c_.layers == 0 ? std::string(kT5Embedding) : T5LayerName(c_.layers - 1, 1));
        }
      }
      group.x = Tensor();
    }
    return out;
  }

  // `where`: what made the values that a norm refused.
  Status NotFinite(const std::string& where) const {
    return WorkError(fmt::format("text encoder, {}: a NaN or an infinity", where),
                     "the weights hold one, or the values outgrow the type of the arithmetic",
                     fmt::format("check {}; try the type f32", source_.Describe()));
  }

  const TensorSource& source_;
  const T5Config& c_;
  DType dtype_;
  const OpContext& ctx_;
};

}  // namespace

StatusOr<std::vector<Tensor>> EncodeText(const TensorSource& source, const T5Config& config, DType dtype,
                                         const std::vector<std::vector<int32_t>>& prompts,
                                         const OpContext& ctx, const CancelToken* cancel) {
  for (const std::vector<int32_t>& ids : prompts) {
    NS_CHECK(!ids.empty(), "a prompt without tokens");
    for (const int32_t id : ids) {
      if (id < 0 || id >= config.vocabulary) {
        return CallError(fmt::format("token {} is not in the text encoder's vocabulary", id),
                         fmt::format("{} holds rows 0 to {}", source.Describe(), config.vocabulary - 1),
                         "use the spiece.model that was published with it");
      }
    }
  }
  return Encoder(source, config, dtype, ctx).Run(prompts, cancel);
}

int64_t T5WorkingBytes(const T5Config& c, DType dtype, int64_t prompts, int64_t longest) {
  const int64_t operand = static_cast<int64_t>(SizeOf(dtype)), inner = c.heads * c.head_dim;
  const int64_t rows = std::min(MostRows(longest), prompts * longest);
  const int64_t values =
      rows * (operand * (c.width + 2 * c.ffn + (dtype == DType::kF32 ? 0 : inner)) + 4 * 5 * inner);
  const int64_t bias = 4 * c.heads * (longest * longest + 2 * longest + c.buckets);
  const int64_t residual = 4 * prompts * longest * c.width;
  // The results are made when the layers' memory is gone, a group after the other.
  const int64_t layers = T5LayerBytes(c, dtype) + values + bias, results = residual;
  return residual + std::max(layers, results);
}

}  // namespace nextscale
