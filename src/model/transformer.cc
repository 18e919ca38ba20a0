#include "model/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/activation.h"
#include "ops/ada_norm.h"
#include "ops/norm.h"

namespace nextscale {
namespace {

constexpr float kEps = 1e-6f;

std::span<const HeadKv> PushHeads(ConstView kv_2HTD, std::vector<HeadKv>& heads) {
  const int64_t H = kv_2HTD.dim(1), T = kv_2HTD.dim(2),
                bytes = T * kv_2HTD.dim(3) * static_cast<int64_t>(SizeOf(kv_2HTD.dtype()));
  const size_t first = heads.size();
  for (int64_t h = 0; h < H; ++h)
    heads.push_back({kv_2HTD.raw() + h * bytes, kv_2HTD.raw() + (H + h) * bytes, T});
  return std::span(heads).subspan(first);
}

bool AllFinite(ConstView x) {
  const float* p = x.data<float>();
  return std::all_of(p, p + x.elements(), [](float value) { return std::isfinite(value); });
}

Status NotFinite(std::string_view where) {
  return WorkError(fmt::format("{} holds a NaN or an infinity", where),
                   "a weight there is not finite, or a number overflowed",
                   "check the file with `nextscale inspect`");
}

}  // namespace

StatusOr<std::unique_ptr<Transformer>> Transformer::Load(const TensorSource& source,
                                                         const TransformerConfig& config, DType dtype,
                                                         const OpContext& ops) {
  std::unique_ptr<Transformer> t(new Transformer(config, dtype));
  NS_ASSIGN_OR_RETURN(t->weights_, TransformerWeights::Load(source, config, dtype, ops));
  return t;
}

StatusOr<Conditioning> Transformer::Condition(std::span<const ConstView> text_rows, const OpContext& ops,
                                              TensorObserver* observer, const CancelToken* cancel) const {
  const int64_t B = static_cast<int64_t>(text_rows.size()), C = config_.width;
  const MemoryUse use{ops.ledger, Account::kActivations};
  Conditioning out;
  out.streams = B;
  out.cond = Tensor(DType::kF32, {B, C}, use);
  out.shared_ada = Tensor(DType::kF32, {B, 6 * C}, use);
  out.head_ada = Tensor(DType::kF32, {B, 2 * C}, use);
  out.text_kv.resize(config_.depth * B);
  for (int64_t b = 0; b < B; ++b) {
    if (cancel && cancel->cancelled()) return Interrupted();
    NS_RETURN_IF_ERROR(ConditionStream(text_rows[b], b, out, ops, observer));
  }
  for (const Tensor& kv : out.text_kv) PushHeads(kv.view(), out.text_heads);

  if (!AllFinite(out.cond.view())) return NotFinite("the pooled text (text_proj_for_sos) of the transformer");
  if (observer) observer->See("cond", out.cond.view());
  Tensor activated(DType::kF32, {B, C}, use);
  Silu(out.cond.view(), activated.view(), ops);
  Linear(weights_.shared_ada, {.x = activated.view(), .y = out.shared_ada.view(), .rows_per_stream = 1}, ops);
  Linear(weights_.head_ada, {.x = activated.view(), .y = out.head_ada.view(), .rows_per_stream = 1}, ops);
  return out;
}

void Conditioning::KeepText(int64_t n) {
  for (size_t i = 0; i < text_kv.size(); ++i) {
    if (static_cast<int64_t>(i) % streams >= n) text_kv[i] = Tensor();
  }
}

Status Transformer::ConditionStream(ConstView rows, int64_t stream, Conditioning& out, const OpContext& ops,
                                    TensorObserver* observer) const {
  const int64_t T = rows.dim(0), C = config_.width, H = config_.heads, D = config_.head_dim();
  NS_CHECK(T > 0 && rows.dim(1) == config_.text_width, "text rows {}", ToString(rows.shape()));
  const MemoryUse use{ops.ledger, Account::kActivations};
  Tensor normed(DType::kF32, {T, config_.text_width}, use);
  if (!RmsNorm(rows, normed.view(), weights_.text_norm.data<float>(), kEps, ops))
    return NotFinite("the text encoder's output");

  const int64_t pool_dim = C / config_.pool_heads;
  // Attentive pooling: one learned query a head over the text rows.
  Tensor kv(DType::kF32, {T, 2 * C}, use), split(DType::kF32, {2, config_.pool_heads, T, pool_dim}, use),
      pooled(DType::kF32, {1, C}, use);
  Linear(weights_.pool_kv, {.x = normed.view(), .y = kv.view(), .rows_per_stream = T}, ops);
  SplitHeads(kv.view(), split.view(), 2, config_.pool_heads, pool_dim, ops);
  std::vector<HeadKv> heads;
  PushHeads(split.view(), heads);
  Attention({.q = weights_.pool_q.view().Reshape({1, C}),
             .o = pooled.view(),
             .B = 1,
             .L = 1,
             .H = config_.pool_heads,
             .D = pool_dim,
             .current_BH = heads,
             .scale = 1.0f / std::sqrt(static_cast<float>(pool_dim))},
            ops);
  Linear(weights_.pool_proj, {.x = pooled.view(), .y = out.cond.view().Rows(stream, 1), .rows_per_stream = 1},
         ops);

  // The rows that cross-attention reads, and every block's keys and values of them.
  Tensor hidden(DType::kF32, {T, C}, use), text(DType::kF32, {T, C}, use), text_typed(dtype_, {T, C}, use),
      text_kv(dtype_, {T, 2 * C}, use);
  Linear(weights_.text_fc1,
         {.x = normed.view(), .y = hidden.view(), .rows_per_stream = T, .activation = Activation::kGeluTanh},
         ops);
  Linear(weights_.text_fc2, {.x = hidden.view(), .y = text.view(), .rows_per_stream = T}, ops);
  if (!AllFinite(text.view())) return NotFinite("text_proj_for_ca of the transformer");
  if (observer) observer->See(fmt::format("stream{}.text_rows", stream), text.view());
  Cast(text.view(), text_typed.view(), ops);
  for (int64_t layer = 0; layer < config_.depth; ++layer) {
    Tensor& kept = out.text_kv[layer * out.streams + stream];
    kept = Tensor(dtype_, {2, H, T, D}, {ops.ledger, Account::kTextKv});
    Linear(weights_.blocks[layer].ca_kv, {.x = text_typed.view(), .y = text_kv.view(), .rows_per_stream = T},
           ops);
    SplitHeads(text_kv.view(), kept.view(), 2, H, D, ops);
  }
  return absl::OkStatus();
}

Status Transformer::RunScale(const ScaleRun& run, const Conditioning& conditioning, KvCache& cache,
                             Activations& act, View logits, const OpContext& ops, TensorObserver* observer,
                             const CancelToken* cancel) const {
  const ScaleStep& step = run.step;
  View x = act.x(step.rows());
  const float* level = weights_.level_embed.data<float>() + step.scale * config_.width;
  const auto see = [&](const std::string& what) {
    if (observer)
      observer->See(fmt::format("scale{:02d}.{}", step.scale, what),
                    x.Reshape({step.streams, step.tokens(), config_.width}));
  };

  EmbedInput(run, conditioning, x, ops);
  for (int64_t layer = 0; layer < config_.depth; ++layer) {
    if (cancel && cancel->cancelled()) return Interrupted();
    if (layer == 0 || (config_.level_each_chunk && layer % config_.blocks_per_chunk() == 0))
      AddRow(x, level, ops);
    if (layer == 0) see("input");
    NS_RETURN_IF_ERROR(RunBlock({.config = config_,
                                 .weights = weights_.blocks[layer],
                                 .layer = layer,
                                 .shared_ada_B6C = conditioning.shared_ada.data<float>(),
                                 .text_BH = conditioning.TextHeads(layer, step.streams, config_.heads),
                                 .cache = cache,
                                 .kv = *run.kv,
                                 .pruner = *run.pruner,
                                 .prune_store = *run.prune_store,
                                 .selection_seconds = *run.selection_seconds,
                                 .act = act,
                                 .ops = ops,
                                 .observer = observer},
                                step));
    for (const InnerGuidance& g : run.inner_guidance) {
      if (std::find(g.after_blocks.begin(), g.after_blocks.end(), layer) == g.after_blocks.end()) continue;
      MixInPlace(x.Rows(g.cond * step.tokens(), step.tokens()),
                 x.Rows(g.uncond * step.tokens(), step.tokens()), g.cfg, ops);
    }
    see(fmt::format("block{:02d}", layer));
  }
  run.prune_store->FreeFresh();
  return ComputeLogits(run, conditioning, act, logits, ops);
}

void Transformer::EmbedInput(const ScaleRun& run, const Conditioning& conditioning, View x,
                             const OpContext& ops) const {
  const ScaleStep& step = run.step;
  const int64_t C = config_.width, L = step.tokens();
  if (step.scale == 0) {
    NS_CHECK_EQ(L, 1);
    std::memcpy(x.data<float>(), conditioning.cond.data<float>(), step.streams * C * sizeof(float));
    AddRow(x, weights_.pos_start.data<float>(), ops);
    return;
  }
  Linear(weights_.word_embed, {.x = run.word_inputs, .y = x.Rows(0, run.images * L), .rows_per_stream = L},
         ops);
  for (int64_t b = run.images; b < step.streams; ++b) {  // both streams of an image get the same
    std::memcpy(x.Rows(b * L, L).raw(), x.Rows(run.image_of_stream[b] * L, L).raw(), L * C * sizeof(float));
  }
}

// head(head_nm(x, cond)), all in f32.
Status Transformer::ComputeLogits(const ScaleRun& run, const Conditioning& conditioning, Activations& act,
                                  View logits, const OpContext& ops) const {
  const ScaleStep& step = run.step;
  const int64_t C = config_.width, L = step.tokens();
  for (int64_t b = 0; b < step.streams; ++b) {
    View normed = act.wide(L, C, DType::kF32);
    const float* scale = conditioning.head_ada.data<float>() + b * 2 * C;
    if (!AdaNorm({.x = act.x(step.rows()).Rows(b * L, L),
                  .y = normed,
                  .rows_per_stream = L,
                  .scale_BC = scale,
                  .shift_BC = scale + C,
                  .stream_stride = 0,
                  .eps = kEps},
                 ops)) {
      return NotFinite(fmt::format("the output of block {} of the transformer at scale {}", config_.depth - 1,
                                   step.scale));
    }
    Linear(weights_.head, {.x = normed, .y = logits.Rows(b * L, L), .rows_per_stream = L}, ops);
  }
  return AllFinite(logits)
             ? absl::OkStatus()
             : NotFinite(fmt::format("the head's output of the transformer at scale {}", step.scale));
}

int64_t TextKvBytes(const TransformerConfig& config, std::span<const int64_t> rows, DType dtype) {
  int64_t total = 0;
  for (int64_t n : rows) total += n;
  return total * config.depth * 2 * config.width * static_cast<int64_t>(SizeOf(dtype));
}

}  // namespace nextscale
