#include "model/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kv/trim.h"
#include "ops/activation.h"
#include "ops/ada_norm.h"
#include "ops/norm.h"

namespace nextscale {
namespace {

constexpr float kEps = 1e-6f;

// The rows of ada_B6C = ada_gss + shared_ada_lin(cond), per stream.
enum AdaRow { kGamma1, kGamma2, kScale1, kScale2, kShift1, kShift2, kAdaRows };

// The observation windows' queries before bias, norm and rotation, which the public ScaleKV code scores with.
// Empty for other policies.
class RawQueries {
 public:
  RawQueries(const StoreScaleArgs& store, const BlockContext& b, const ScaleStep& step) : b_(b) {
    if (!b.kv.policy || b.kv.policy->score() != WindowScore::kRawLogits) return;
    for (int64_t stream = 0; stream < step.stored_streams; ++stream) {
      windows_.push_back(WindowOf(store, stream, 0, b.kv, b.cache));
      rows_count_ += static_cast<int64_t>(windows_.back().queries.size());
    }
    rows_ =
        Tensor(store.current.k.dtype(), {rows_count_, b.config.width}, {b.ops.ledger, Account::kActivations});
  }

  // Takes what belongs to streams [first, first + n) from their qkv product.
  void Note(ConstView qkv, int64_t first, int64_t n) {
    const int64_t C = b_.config.width, L = qkv.dim(0) / n,
                  element = static_cast<int64_t>(SizeOf(qkv.dtype()));
    const int64_t end = std::min(first + n, static_cast<int64_t>(windows_.size()));
    std::vector<float> row(C);
    for (int64_t stream = first; stream < end; ++stream) {
      for (int32_t query : windows_[stream].queries) {
        ConvertFloats(qkv.raw() + ((stream - first) * L + query) * 3 * C * element, qkv.dtype(), row.data(),
                      DType::kF32, C);
        for (int64_t c = 0; c < C; ++c) row[c] -= b_.weights.qkv.bias()[c];
        ConvertFloats(row.data(), DType::kF32, rows_.view().Rows(noted_++, 1).raw(), rows_.dtype(), C);
      }
    }
  }
  ConstView rows() const { return rows_.empty() ? ConstView() : rows_.view(); }

 private:
  const BlockContext& b_;
  std::vector<ObservationWindow> windows_;
  Tensor rows_;
  int64_t rows_count_ = 0, noted_ = 0;
};

class BlockPass {
 public:
  BlockPass(const BlockContext& b, const ScaleStep& step)
      : b_(b),
        w_(b.weights),
        act_(b.act),
        step_(step),
        C_(b.config.width),
        H_(b.config.heads),
        D_(b.config.head_dim()),
        rows_({.scale = step.scale,
               .layer = b.layer,
               .streams = step.streams,
               .map = step.map,
               .source = step.source},
              b.pruner, b.prune_store, act_, b.ops, b.observer) {}

  Status Run() {
    AddAdaRows();
    NS_RETURN_IF_ERROR(SelfAttention());
    NS_RETURN_IF_ERROR(CrossAttention());
    return FeedForward();
  }

 private:
  int64_t L() const { return rows_.per_stream(); }  // rows a stream in this branch

  Status SelfAttention() {
    if (!rows_.Choose(Branch::kSelfAttention) || !Modulate(kScale1, kShift1))
      return NotFinite(b_.layer == 0 ? "input" : fmt::format("output of block {}", b_.layer - 1));
    const std::vector<std::vector<int32_t>> tokens_B = TokensThatRun();
    View k = act_.k(step_.streams, L()), v = act_.v(step_.streams, L());
    StoreScaleArgs store{.layer = b_.layer,
                         .scale = step_.scale,
                         .map = step_.map,
                         .current = {.k = k.Rows(0, step_.stored_streams),
                                     .v = v.Rows(0, step_.stored_streams),
                                     .tokens_B = tokens_B},
                         .at_B = rows_.at_B(),
                         .q = act_.q(rows_.count())};
    RawQueries raw(store, b_, step_);
    ForEachGroup([&](int64_t first, int64_t n) {
      View qkv = act_.wide(n * L(), 3 * C_, w_.qkv.dtype());
      Linear(w_.qkv, {.x = Part(act_.h(rows_.count()), first, n), .y = qkv, .rows_per_stream = L()}, b_.ops);
      raw.Note(qkv, first, n);
      SplitQkv({.qkv = qkv,
                .q = Part(act_.q(rows_.count()), first, n),
                .k = k.Rows(first, n),
                .v = v.Rows(first, n),
                .B = n,
                .L = L(),
                .H = H_,
                .D = D_,
                .q_scale_H = w_.q_scale_H.data<float>(),
                .rope = step_.rope,
                .rows = PartOfRows(first, n)},
               b_.ops);
    });
    const std::vector<HeadKv> current = HeadsOf(k, v);
    const AttentionArgs attention = AttentionOver(b_.cache.Heads(b_.layer), current, 1.0f);
    Attention(attention, b_.ops);
    if (b_.observer) b_.observer->SeeSelfAttention(step_.scale, b_.layer, attention);
    if (step_.stored_streams > 0) {
      store.raw_q = raw.rows();
      b_.selection_seconds += StoreScale(store, b_.kv, b_.cache, b_.ops);
    }
    AddProjected(w_.proj, Ada(kGamma1), kAdaRows * C_);
    return absl::OkStatus();
  }

  Status CrossAttention() {
    if (!rows_.Choose(Branch::kCrossAttention) || !NormForText())
      return NotFinite(fmt::format("self-attention of block {}", b_.layer));
    Linear(w_.ca_q, {.x = act_.h(rows_.count()), .y = act_.q(rows_.count()), .rows_per_stream = L()}, b_.ops);
    Attention(AttentionOver({}, b_.text_BH, 1.0f / std::sqrt(static_cast<float>(D_))), b_.ops);
    AddProjected(w_.ca_proj, w_.ca_gamma.empty() ? nullptr : w_.ca_gamma.data<float>(), 0);
    return absl::OkStatus();
  }

  Status FeedForward() {
    if (!rows_.Choose(Branch::kFeedForward) || !Modulate(kScale2, kShift2))
      return NotFinite(fmt::format("cross-attention of block {}", b_.layer));
    ForEachGroup([&](int64_t first, int64_t n) {
      ConstView h = Part(act_.h(rows_.count()), first, n);
      View hidden = act_.wide(n * L(), b_.config.ffn, w_.fc1.dtype());
      if (b_.config.swiglu) {
        View gate = act_.wide_gate(n * L(), b_.config.ffn);
        Linear(w_.fcg, {.x = h, .y = gate, .rows_per_stream = L()}, b_.ops);
        Linear(w_.fc1, {.x = h, .y = hidden, .rows_per_stream = L()}, b_.ops);
        SiluMul(gate, hidden, hidden, b_.ops);
      } else {
        Linear(w_.fc1, {.x = h, .y = hidden, .rows_per_stream = L(), .activation = Activation::kGeluTanh},
               b_.ops);
      }
      Linear(w_.fc2,
             {.x = hidden,
              .y = Part(rows_.out(), first, n),
              .rows_per_stream = L(),
              .gate_BN = Ada(kGamma2) + first * kAdaRows * C_,
              .gate_stride = kAdaRows * C_,
              .accumulate = rows_.adds()},
             b_.ops);
    });
    rows_.Finish();
    return absl::OkStatus();
  }

  // ada_B6C = ada_gss + shared.
  void AddAdaRows() {
    float* out = act_.ada_B6C(step_.streams).data<float>();
    const float* own = w_.ada_gss.data<float>();
    for (int64_t b = 0; b < step_.streams; ++b) {
      for (int64_t i = 0; i < kAdaRows * C_; ++i)
        out[b * kAdaRows * C_ + i] = own[i] + b_.shared_ada_B6C[b * kAdaRows * C_ + i];
    }
  }

  const float* Ada(AdaRow row) const { return act_.ada_B6C(step_.streams).data<float>() + row * C_; }

  // h = LN(x) * (1 + scale) + shift, of the rows that run
  bool Modulate(AdaRow scale, AdaRow shift) {
    return AdaNorm({.x = act_.x(step_.rows()),
                    .y = act_.h(rows_.count()),
                    .rows = rows_.rows(),
                    .rows_per_stream = L(),
                    .scale_BC = Ada(scale),
                    .shift_BC = Ada(shift),
                    .stream_stride = kAdaRows * C_,
                    .eps = kEps},
                   b_.ops);
  }

  // h = ca_norm(x), of the rows that run
  bool NormForText() {
    return LayerNorm({.x = act_.x(step_.rows()),
                      .y = act_.h(rows_.count()),
                      .rows = rows_.rows(),
                      .weight = w_.ca_norm_weight.data<float>(),
                      .bias = w_.ca_norm_bias.data<float>(),
                      .eps = kEps},
                     b_.ops);
  }

  // h = attention of q over these keys
  AttentionArgs AttentionOver(std::span<const HeadKv> cached, std::span<const HeadKv> current,
                              float scale) const {
    return {.q = act_.q(rows_.count()),
            .o = act_.h(rows_.count()),
            .B = step_.streams,
            .L = L(),
            .H = H_,
            .D = D_,
            .cached_BH = cached,
            .current_BH = current,
            .scale = scale};
  }

  // x += gate * (h W^T + b)
  void AddProjected(const LinearWeights& weights, const float* gate, int64_t gate_stride) {
    Linear(weights,
           {.x = act_.h(rows_.count()),
            .y = rows_.out(),
            .rows_per_stream = L(),
            .gate_BN = gate,
            .gate_stride = gate_stride,
            .accumulate = rows_.adds()},
           b_.ops);
    rows_.Finish();
  }

  std::vector<HeadKv> HeadsOf(View k, View v) const {
    const int64_t bytes = L() * D_ * static_cast<int64_t>(SizeOf(k.dtype()));
    std::vector<HeadKv> heads(step_.streams * H_);
    for (int64_t i = 0; i < step_.streams * H_; ++i)
      heads[i] = {k.raw() + i * bytes, v.raw() + i * bytes, L()};
    return heads;
  }

  // The wide products take some streams at a time.
  template <typename Body>
  void ForEachGroup(Body body) {
    const int64_t group = act_.GroupStreams(L());
    for (int64_t first = 0; first < step_.streams; first += group)
      body(first, std::min(group, step_.streams - first));
  }
  View Part(View rows, int64_t first_stream, int64_t n) const {
    return rows.Rows(first_stream * L(), n * L());
  }
  std::span<const int32_t> PartOfRows(int64_t first_stream, int64_t n) const {
    return rows_.rows().empty() ? rows_.rows() : rows_.rows().subspan(first_stream * L(), n * L());
  }

  // [B] numbers of the tokens whose keys and values are new.
  std::vector<std::vector<int32_t>> TokensThatRun() const {
    std::vector<std::vector<int32_t>> tokens_B(step_.tokens_B.begin(), step_.tokens_B.end());
    for (size_t b = 0; b < rows_.at_B().size(); ++b) {
      const std::vector<int32_t>& at = rows_.at_B()[b];
      tokens_B[b].resize(at.size());
      std::transform(at.begin(), at.end(), tokens_B[b].begin(),
                     [&](int32_t i) { return step_.tokens_B[b][i]; });
    }
    return tokens_B;
  }

  Status NotFinite(const std::string& where) const {
    return WorkError(
        fmt::format("the {} of the transformer holds a NaN or an infinity at scale {}", where, step_.scale),
        "a weight there is not finite, or a number overflowed",
        "check the file with `nextscale inspect`, or run with --type f32");
  }

  const BlockContext& b_;
  const BlockWeights& w_;
  Activations& act_;
  const ScaleStep& step_;
  const int64_t C_, H_, D_;
  BranchRows rows_;  // of the branch that is being computed
};

}  // namespace

Status RunBlock(const BlockContext& block, const ScaleStep& step) { return BlockPass(block, step).Run(); }

}  // namespace nextscale
