#include "engine/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/codes.h"
#include "ops/activation.h"
#include "ops/resample.h"
#include "ops/sample.h"

namespace nextscale {
namespace {

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Generation::Generation(const ModelInfo& info, const Transformer& transformer, std::span<const ImageJob> jobs,
                       const BatchOptions& options, GenerationShape shape, const OpContext& ops)
    : info_(info),
      transformer_(transformer),
      jobs_(jobs),
      options_(options),
      ops_(ops),
      schedule_(jobs.front().request.schedule),
      shape_(std::move(shape)),
      prune_store_(transformer.config().depth, ops.ledger) {
  const TransformerConfig& config = transformer.config();
  MakeStreams();
  for (const ImageJob& job : jobs) {
    if (!job.bits) own_bits_.push_back(MakeBitSource(job.request));
    bits_.push_back(job.bits ? job.bits : own_bits_.back().get());
  }

  const int64_t most_tokens = shape_.most_tokens;
  const MemoryUse use{ops.ledger, Account::kActivations};
  act_ = std::make_unique<Activations>(config, ActivationsShape{streams(), most_tokens}, transformer.dtype(),
                                       ops.ledger);
  cache_ = std::make_unique<KvCache>(
      KvCacheShape{config.depth, streams(), config.heads, config.head_dim(), shape_.kv.Capacity()},
      transformer.dtype(), ops.ledger);
  word_inputs_ = Tensor(DType::kF32, {images() * most_tokens, config.bits}, use);
  logits_ = Tensor(DType::kF32, {streams() * most_tokens, 2 * config.bits}, use);
  const MapSize latent = LatentMap(schedule_.last(), info.patchify);
  for (int64_t i = 0; i < images(); ++i) {
    GeneratedImage image;
    image.summed = Tensor(DType::kF32, {config.bits / (info.patchify ? 4 : 1), latent.h, latent.w}, use);
    image.summed.FillZero();
    result_.images.push_back(std::move(image));
  }
}

void Generation::MakeStreams() {
  for (int64_t i = 0; i < images(); ++i) streams_.push_back({i, true, schedule_.scales() - 1});
  for (int64_t i = 0; i < images(); ++i) {
    const PictureRequest& r = jobs_[i].request;
    NS_CHECK(r.schedule.maps == schedule_.maps, "a batch has one schedule");
    if (r.guided()) streams_.push_back({i, false, r.LastUncondScale()});
  }
  std::stable_sort(streams_.begin() + images(), streams_.end(),
                   [](const Stream& a, const Stream& b) { return a.last_scale > b.last_scale; });
  uncond_of_image_.assign(jobs_.size(), -1);
  for (int64_t b = 0; b < streams(); ++b) {
    image_of_stream_.push_back(streams_[b].image);
    if (!streams_[b].conditional) uncond_of_image_[streams_[b].image] = b;
  }
}

int64_t Generation::StreamsAt(int64_t scale) const {
  return std::count_if(streams_.begin(), streams_.end(),
                       [&](const Stream& s) { return s.last_scale >= scale; });
}

int64_t Generation::GuideStream(int64_t image, int64_t scale) const {
  return jobs_[image].request.CfgAt(scale) == 1.0f ? -1 : uncond_of_image_[image];
}

StatusOr<BatchResult> Generation::Run() {
  const auto start = std::chrono::steady_clock::now();
  TensorObserver* tensors =
      options_.observer && options_.observer->wants_tensors() ? options_.observer : nullptr;
  const std::vector<ConstView> rows = TextRows();
  NS_ASSIGN_OR_RETURN(Conditioning conditioning,
                      transformer_.Condition(rows, ops_, tensors, options_.cancel));
  double watched = 0;  // in the observer: previews are not the transformer's time
  for (int64_t scale = 0; scale < schedule_.scales(); ++scale) {
    if (shape_.pruner.Skips(scale)) {
      for (GeneratedImage& image : result_.images)
        image.bits.emplace_back(DType::kU8, Shape{schedule_.maps[scale].tokens(), 0}, MemoryUse{});
      continue;
    }
    if (options_.observer) options_.observer->ScaleBegins(scale, schedule_.maps[scale]);
    ScaleReport report{.scale = scale, .map = schedule_.maps[scale]};
    NS_RETURN_IF_ERROR(RunScale(scale, conditioning, report));
    result_.scales.push_back(report);
    const auto before = std::chrono::steady_clock::now();
    if (options_.observer) NS_RETURN_IF_ERROR(options_.observer->ScaleDone(report, done()));
    watched += Seconds(before);
  }
  result_.seconds = Seconds(start) - watched;
  return std::move(result_);
}

std::vector<ConstView> Generation::TextRows() const {
  std::vector<ConstView> rows;
  for (const Stream& s : streams_) {
    const ImageJob& job = jobs_[s.image];
    if (s.conditional) {
      rows.push_back(job.prompt->rows.view());
    } else if (job.negative) {
      rows.push_back(job.negative->rows.view());
    } else {
      rows.push_back(transformer_.UnconditionalRows(job.prompt->rows.dim(0)));
    }
  }
  return rows;
}

Status Generation::RunScale(int64_t scale, Conditioning& conditioning, ScaleReport& report) {
  const auto start = std::chrono::steady_clock::now();
  const TransformerConfig& config = transformer_.config();
  const MapSize map = schedule_.maps[scale];
  const int64_t L = map.tokens(), streams = StreamsAt(scale), streams_after = StreamsAt(NextRun(scale));
  const RopeTable rope = BuildRopeTable(map, schedule_.rope_grid, config.head_dim(), config.rope_kind,
                                        {ops_.ledger, Account::kActivations});
  if (scale > 0) MakeWordInputs(scale);
  const std::vector<std::vector<int32_t>> tokens(streams, TokenNumbers(scale));
  const std::vector<InnerGuidance> inner = InnerGuidanceAt(scale);
  const ScaleRun run{
      .step = {.scale = scale,
               .streams = streams,
               .stored_streams = streams_after,
               .map = map,
               .rope = &rope,
               .tokens_B = tokens,
               .source = shape_.pruner.source() < 0 ? MapSize() : schedule_.maps[shape_.pruner.source()]},
      .images = images(),
      .image_of_stream = image_of_stream_,
      .word_inputs = word_inputs_.view().Rows(0, images() * L),
      .inner_guidance = inner,
      .kv = &shape_.kv,
      .pruner = &shape_.pruner,
      .prune_store = &prune_store_,
      .selection_seconds = &report.selection_seconds};
  TensorObserver* tensors =
      options_.observer && options_.observer->wants_tensors() ? options_.observer : nullptr;
  NS_RETURN_IF_ERROR(transformer_.RunScale(run, conditioning, *cache_, *act_,
                                           logits_.view().Rows(0, streams * L), ops_, tensors,
                                           options_.cancel));

  if (tensors && shape_.kv.policy) SeeKept(scale, streams_after);
  for (int64_t i = 0; i < images(); ++i) Guide(i, scale);
  const Shape logits_shape{images(), L, config.bits, 2};
  See(scale, "logits", logits_.view().Rows(0, images() * L).Reshape(logits_shape));
  for (int64_t i = 0; i < images(); ++i) {
    Tensor bits(DType::kU8, {L, config.bits}, {ops_.ledger, Account::kActivations});
    NS_RETURN_IF_ERROR(bits_[i]->Draw(scale, map, logits_.view().Rows(i * L, L).Reshape({L, config.bits, 2}),
                                      bits.view(), ops_));
    AddCode(i, scale, bits.view());
    result_.images[i].bits.push_back(std::move(bits));
  }

  if (streams_after > 0 && streams_after < streams) {
    cache_->KeepStreams(streams_after);
    conditioning.KeepText(streams_after);
  }

  report.seconds = Seconds(start);
  report.kv_bytes = cache_->bytes();
  report.full_kv_bytes = FullKvBytes(scale);
  report.drafters = shape_.kv.DraftersAfter(scale);
  for (int64_t layer = 0; layer < config.depth; ++layer) {
    report.layer_kv_bytes.push_back(cache_->LayerBytes(layer));
    report.kv_tokens.push_back(cache_->TokensHeld(layer));
    report.tokens_run.push_back(shape_.pruner.Kept(scale, layer, L));
  }
  for (int account = 0; account < kAccounts; ++account) {
    report.account_bytes.push_back(ops_.ledger ? ops_.ledger->current(static_cast<Account>(account)) : 0);
  }
  return absl::OkStatus();
}

// The sum of codes so far, resized to this scale's latent, token by token.
void Generation::MakeWordInputs(int64_t scale) {
  const MapSize map = schedule_.maps[scale], latent = LatentMap(map, info_.patchify);
  const MemoryUse use{ops_.ledger, Account::kActivations};
  for (int64_t i = 0; i < images(); ++i) {
    const Tensor& summed = result_.images[i].summed;
    Tensor resized(DType::kF32, {summed.dim(0), latent.h, latent.w}, use);
    ResizeBilinear(summed.view(), resized.view(), ops_);
    View tokens = word_inputs_.view().Rows(i * map.tokens(), map.tokens());
    if (info_.patchify) {
      Tensor unshuffled(DType::kF32, {4 * summed.dim(0), map.h, map.w}, use);
      PixelUnshuffle2(resized.view(), unshuffled.view());
      ChannelsToTokens(unshuffled.view(), tokens);
    } else {
      ChannelsToTokens(resized.view(), tokens);
    }
  }
}

int64_t Generation::NextRun(int64_t scale) const {
  int64_t next = scale + 1;
  while (next < schedule_.scales() && shape_.pruner.Skips(next)) ++next;
  return next;
}

// The numbers of a scale's tokens, counted through all maps.
std::vector<int32_t> Generation::TokenNumbers(int64_t scale) const {
  int64_t first = 0;
  for (int64_t k = 0; k < scale; ++k) first += schedule_.maps[k].tokens();
  std::vector<int32_t> numbers(schedule_.maps[scale].tokens());
  std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(first));
  return numbers;
}

std::vector<InnerGuidance> Generation::InnerGuidanceAt(int64_t scale) const {
  std::vector<InnerGuidance> out;
  for (int64_t i = 0; i < images(); ++i) {
    const PictureRequest& r = jobs_[i].request;
    const int64_t uncond = GuideStream(i, scale);
    if (uncond < 0) continue;
    InnerGuidance g{.cond = i, .uncond = uncond, .cfg = r.CfgAt(scale)};
    for (int layer : r.cfg_insertion_layer) {
      if (layer < 0) g.after_blocks.push_back(transformer_.config().depth + layer);
    }
    if (!g.after_blocks.empty()) out.push_back(g);
  }
  return out;
}

ConstView Generation::Guide(int64_t image, int64_t scale) {
  const PictureRequest& r = jobs_[image].request;
  const int64_t L = schedule_.maps[scale].tokens();
  View cond = logits_.view().Rows(image * L, L);
  const bool on_logits =
      std::find(r.cfg_insertion_layer.begin(), r.cfg_insertion_layer.end(), 0) != r.cfg_insertion_layer.end();
  const int64_t guide = on_logits ? GuideStream(image, scale) : -1;
  const ConstView uncond = guide >= 0 ? ConstView(logits_.view().Rows(guide * L, L)) : ConstView();
  GuideLogits(cond, uncond, r.CfgAt(scale), r.tau[scale], cond, ops_);
  return cond;
}

// summed += resize(code of bits); a code of the last map's size as it is.
void Generation::AddCode(int64_t image, int64_t scale, ConstView bits_Ld) {
  const MapSize map = schedule_.maps[scale], latent = LatentMap(map, info_.patchify);
  const MemoryUse use{ops_.ledger, Account::kActivations};
  Tensor& summed = result_.images[image].summed;
  Tensor code(DType::kF32, {summed.dim(0), latent.h, latent.w}, use);
  BitsToCode(LatentBits(bits_Ld, map, info_.patchify, use).view(), code.view());
  if (code.shape() == summed.shape()) {
    AddInPlace(summed.view(), code.view(), ops_);
  } else {
    Tensor resized(DType::kF32, summed.shape(), use);
    ResizeBilinear(code.view(), resized.view(), ops_);
    AddInPlace(summed.view(), resized.view(), ops_);
  }
}

int64_t Generation::FullKvBytes(int64_t scale) const {
  const int64_t scales = NextRun(scale) < schedule_.scales() ? scale + 1 : scale;
  int64_t tokens = 0;
  for (int64_t k = 0; k < scales; ++k) tokens += schedule_.maps[k].tokens();
  const TransformerConfig& c = transformer_.config();
  return tokens * streams() * c.depth * 2 * c.width * static_cast<int64_t>(SizeOf(transformer_.dtype()));
}

// "scaleNN.layerNN.kept" [streams, heads, m]: the tokens that each head holds after the scale's trim.
void Generation::SeeKept(int64_t scale, int64_t streams) const {
  if (streams == 0) return;
  const KvCacheShape& shape = cache_->shape();
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    Tensor kept(DType::kI32, {streams, shape.heads, cache_->TokensHeld(layer)}, {});
    int32_t* to = kept.data<int32_t>();
    for (int64_t i = 0; i < streams * shape.heads; ++i) {
      const std::span<const int32_t> tokens = cache_->Tokens(layer, i / shape.heads, i % shape.heads);
      to = std::copy(tokens.begin(), tokens.end(), to);
    }
    See(scale, fmt::format("layer{:02d}.kept", layer), kept.view());
  }
}

void Generation::See(int64_t scale, std::string_view what, ConstView tensor) const {
  if (options_.observer && options_.observer->wants_tensors())
    options_.observer->See(fmt::format("scale{:02d}.{}", scale, what), tensor);
}

StatusOr<BatchResult> Engine::Generate(std::span<const ImageJob> jobs, const BatchOptions& options,
                                       const OpContext& ops) const {
  NS_CHECK(!jobs.empty());
  for (const ImageJob& job : jobs) NS_RETURN_IF_ERROR(CheckRequest(job.request, info_));
  NS_ASSIGN_OR_RETURN(GenerationShape shape, ShapeOf(jobs.front().request.schedule, options.prune, options.kv,
                                                     transformer_->config().depth));
  return Generation(info_, *transformer_, jobs, options, std::move(shape), ops).Run();
}

}  // namespace nextscale
