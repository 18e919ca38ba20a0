#include "cli/bench_run.h"

#include <algorithm>
#include <chrono>

#include "cli/bench_flop.h"
#include "engine/generation_shape.h"

namespace nextscale {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

ProfileEntries Difference(const ProfileEntries& now, const ProfileEntries& before) {
  ProfileEntries out;
  for (const auto& [name, entry] : now) {
    Profiler::Entry d = entry;
    if (const auto it = before.find(name); it != before.end()) {
      d.seconds -= it->second.seconds;
      d.flop -= it->second.flop;
      d.bytes -= it->second.bytes;
      d.calls -= it->second.calls;
    }
    if (d.calls > 0) out[name] = d;
  }
  return out;
}

// The element whose `seconds` is the median.
template <typename T>
T Median(std::vector<T> runs) {
  std::sort(runs.begin(), runs.end(), [](const T& a, const T& b) { return a.seconds < b.seconds; });
  return runs[runs.size() / 2];
}

// What each scale took, by op.
class ScaleWatch : public EngineObserver {
 public:
  explicit ScaleWatch(const Profiler& profiler) : profiler_(profiler) {}

  void ScaleBegins(int64_t scale, MapSize map) override { before_ = profiler_.entries(); }
  Status ScaleDone(const ScaleReport& report, std::span<const GeneratedImage> images) override {
    scales_.push_back({.scale = report.scale,
                       .map = report.map,
                       .seconds = report.seconds,
                       .ops = Difference(profiler_.entries(), before_),
                       .kv_bytes = report.kv_bytes});
    return absl::OkStatus();
  }
  std::vector<BenchScale> Take() { return std::exchange(scales_, {}); }

 private:
  const Profiler& profiler_;
  ProfileEntries before_;
  std::vector<BenchScale> scales_;
};

// One bench: its memory, profile and results.
class Bench {
 public:
  Bench(const ModelFiles& files, const ModelInfo& info, const BenchSettings& settings,
        const CancelToken* cancel)
      : files_(files),
        info_(info),
        settings_(settings),
        cancel_(cancel),
        ops_(Backend::kFast, &ledger_, &profiler_) {}

  StatusOr<BenchResult> Run() {
    NS_ASSIGN_OR_RETURN(const std::vector<PromptText> texts, RunText());
    if (settings_.transformer) {
      NS_RETURN_IF_ERROR(RunPictures(texts));
    } else if (settings_.vae) {
      NS_RETURN_IF_ERROR(RunVaeAlone());
    }
    NoteMemory(result_);
    return std::move(result_);
  }

  StatusOr<std::vector<BenchResult>> RunEach(std::span<const BenchSettings> all) {
    NS_ASSIGN_OR_RETURN(const std::vector<PromptText> texts, RunText());
    NS_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, LoadEngine());
    std::vector<BenchResult> results;
    for (const BenchSettings& settings : all) {
      ops_.scratch.Clear();
      ledger_.ResetPeaks();
      ResetPeakResident();
      BenchResult result;
      std::vector<Tensor> summed;
      NS_RETURN_IF_ERROR(RunTransformer(*engine, texts, settings, result, summed));
      NoteMemory(result);
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  void NoteMemory(BenchResult& result) const {
    for (int a = 0; a < kAccounts; ++a) result.account_peaks[a] = ledger_.peak(static_cast<Account>(a));
    result.peak_resident = PeakResidentBytes();
  }

  template <typename Body>
  Status Repeat(BenchStage& stage, Body&& body) {
    std::vector<BenchStage> runs;
    for (int i = 0; i < settings_.repeat; ++i) {
      const ProfileEntries before = profiler_.entries();
      const Stopwatch watch;
      NS_RETURN_IF_ERROR(body());
      runs.push_back({.load_seconds = stage.load_seconds,
                      .seconds = watch.seconds(),
                      .flop = stage.flop,
                      .ops = Difference(profiler_.entries(), before)});
    }
    stage = Median(std::move(runs));
    return absl::OkStatus();
  }

  // One prompt a picture, of tokens spread over the vocabulary. Without a text stage rows of small numbers
  // stand for them.
  StatusOr<std::vector<PromptText>> RunText() {
    std::vector<PromptText> texts(settings_.batch);
    std::vector<std::vector<int32_t>> ids(settings_.batch);
    for (int64_t i = 0; i < settings_.batch; ++i) {
      for (int64_t t = 0; t < settings_.text_tokens; ++t)
        ids[i].push_back(static_cast<int32_t>(3 + (i * 7919 + t * 104729) % VocabularyUsed()));
      texts[i].ids = ids[i];
    }
    if (!settings_.text) {
      if (settings_.transformer) {
        for (PromptText& text : texts) text.rows = PlainRows();
      }
      return texts;
    }
    std::vector<Tensor> rows;
    result_.text.flop = static_cast<double>(settings_.batch) * T5Flop(*info_.text, settings_.text_tokens);
    NS_RETURN_IF_ERROR(Repeat(result_.text, [&]() -> Status {
      NS_ASSIGN_OR_RETURN(rows,
                          EncodeText(*files_.text, *info_.text, settings_.types.text, ids, ops_, cancel_));
      return absl::OkStatus();
    }));
    for (size_t i = 0; i < rows.size(); ++i) texts[i].rows = std::move(rows[i]);
    ops_.scratch.Clear();
    return texts;
  }

  int64_t VocabularyUsed() const { return info_.text ? std::max<int64_t>(1, info_.text->vocabulary - 3) : 1; }

  Tensor PlainRows() const {
    Tensor rows(DType::kF32, {settings_.text_tokens, info_.transformer->text_width}, {});
    for (int64_t i = 0; i < rows.elements(); ++i)
      rows.data<float>()[i] = 0.1f * static_cast<float>(i % 13 - 6);
    return rows;
  }

  std::vector<ImageJob> Jobs(const std::vector<PromptText>& texts) const {
    const int scales = settings_.schedule.scales();
    std::vector<ImageJob> jobs;
    for (size_t i = 0; i < texts.size(); ++i) {
      PictureRequest request;
      request.seed = i;
      request.schedule = settings_.schedule;
      request.cfg.assign(scales, settings_.guided ? 3.0f : 1.0f);
      request.uncond_until = settings_.uncond_until;
      request.tau.assign(scales, 1.0f);
      jobs.push_back({.request = request, .prompt = &texts[i]});
    }
    return jobs;
  }

  StatusOr<std::unique_ptr<Engine>> LoadEngine() {
    const Stopwatch load;
    StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(files_, info_, settings_.types, ops_);
    result_.transformer.load_seconds = load.seconds();
    return engine;
  }

  Status RunPictures(const std::vector<PromptText>& texts) {
    NS_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, LoadEngine());
    std::vector<Tensor> summed;
    NS_RETURN_IF_ERROR(RunTransformer(*engine, texts, settings_, result_, summed));
    if (!settings_.vae) return absl::OkStatus();
    result_.vae.flop = VaeDecodeFlop(*info_.vae, Latent());
    return Repeat(result_.vae, [&] { return engine->Decode(summed.front().view(), ops_, cancel_).status(); });
  }

  // The decoder without a transformer.
  Status RunVaeAlone() {
    const Stopwatch load;
    NS_ASSIGN_OR_RETURN(const std::unique_ptr<Vae> vae,
                        Vae::Load(*files_.vae, settings_.types.vae, VaeParts::kDecoder, ops_));
    result_.vae.load_seconds = load.seconds();
    result_.vae.flop = VaeDecodeFlop(*info_.vae, Latent());
    const Tensor summed = PlainLatent();
    const int64_t stride = info_.vae->stride();
    Tensor image(DType::kF32, {3, Latent().h * stride, Latent().w * stride},
                 {&ledger_, Account::kActivations});
    return Repeat(result_.vae, [&] { return vae->Decode(summed.view(), image.view(), ops_, cancel_); });
  }

  MapSize Latent() const { return LatentMap(settings_.schedule.last(), info_.patchify); }

  Tensor PlainLatent() const {
    Tensor out(DType::kF32, {info_.vae->bits, Latent().h, Latent().w}, {});
    for (int64_t i = 0; i < out.elements(); ++i)
      out.data<float>()[i] = i * 2654435761 >> 7 & 1 ? 0.2f : -0.2f;
    return out;
  }

  Status RunTransformer(const Engine& engine, const std::vector<PromptText>& texts,
                        const BenchSettings& settings, BenchResult& result, std::vector<Tensor>& summed) {
    const std::vector<ImageJob> jobs = Jobs(texts);
    ScaleWatch watch(profiler_);
    const BatchOptions options{
        .kv = settings.kv, .prune = settings.prune, .observer = &watch, .cancel = cancel_};
    NS_ASSIGN_OR_RETURN(const BenchWork work, WorkOf(info_, settings));
    result.transformer.flop = work.linear + work.attention;
    std::vector<std::vector<BenchScale>> runs;
    NS_RETURN_IF_ERROR(Repeat(result.transformer, [&]() -> Status {
      NS_ASSIGN_OR_RETURN(BatchResult batch, engine.Generate(jobs, options, ops_));
      runs.push_back(watch.Take());
      summed.clear();
      for (GeneratedImage& image : batch.images) summed.push_back(std::move(image.summed));
      return absl::OkStatus();
    }));
    for (size_t k = 0; k < runs.front().size(); ++k) {
      std::vector<BenchScale> of_scale;
      for (const std::vector<BenchScale>& run : runs) of_scale.push_back(run[k]);
      result.scales.push_back(Median(std::move(of_scale)));
    }
    return absl::OkStatus();
  }

  const ModelFiles& files_;
  const ModelInfo& info_;
  const BenchSettings& settings_;
  const CancelToken* cancel_;
  MemoryLedger ledger_;
  Profiler profiler_;
  OpContext ops_;
  BenchResult result_;
};

}  // namespace

PlanRequest BenchSettings::Plan() const {
  PlanRequest request;
  request.schedule = schedule;
  request.batch = batch;
  request.guided = guided;
  request.uncond_until = uncond_until;
  request.text_tokens = text_tokens;
  request.prompts = batch;
  request.types = types;
  request.threads = threads;
  request.kv = kv;
  request.prune = prune;
  return request;
}

StatusOr<BenchResult> RunBench(const ModelFiles& files, const ModelInfo& info, const BenchSettings& settings,
                               const CancelToken* cancel) {
  return Bench(files, info, settings, cancel).Run();
}

StatusOr<std::vector<BenchResult>> RunTransformerBenches(const ModelFiles& files, const ModelInfo& info,
                                                         std::span<const BenchSettings> settings,
                                                         const CancelToken* cancel) {
  return Bench(files, info, settings.front(), cancel).RunEach(settings);
}

StatusOr<BenchWork> WorkOf(const ModelInfo& info, const BenchSettings& settings) {
  BenchWork out;
  if (info.transformer) {
    const TransformerConfig& config = *info.transformer;
    NS_ASSIGN_OR_RETURN(const GenerationShape shape,
                        ShapeOf(settings.schedule, settings.prune, settings.kv, config.depth));
    const PlanRequest plan = settings.Plan();
    ScaleWork work{.images = settings.batch,
                   .streams = plan.StreamsAt(0),
                   .text_tokens = settings.text_tokens,
                   .cached = std::vector<int64_t>(config.depth, 0)};
    out.linear = ConditionFlop(config, work.streams, settings.text_tokens);
    const LayerTable held = shape.kv.Held();
    for (int64_t k = 0; k < settings.schedule.scales(); ++k) {
      if (shape.pruner.Skips(k)) continue;
      work.streams = plan.StreamsAt(k);
      work.tokens = settings.schedule.maps[k].tokens();
      work.run = shape.kv.added[k];
      if (k > 0) work.cached = held[k - 1];
      const ScaleFlop flop = TransformerFlop(config, work);
      out.linear += flop.linear;
      out.attention += flop.attention;
    }
  }
  if (info.text) out.text = static_cast<double>(settings.batch) * T5Flop(*info.text, settings.text_tokens);
  if (info.vae)
    out.vae = static_cast<double>(settings.batch) *
              VaeDecodeFlop(*info.vae, LatentMap(settings.schedule.last(), info.patchify));
  return out;
}

}  // namespace nextscale
