#include <fmt/format.h>

#include "cli/parity_policy.h"
#include "cli/parity_replay.h"
#include "cli/parity_run.h"
#include "engine/engine.h"

namespace nextscale {
namespace {

// Passes the engine's tensors to the check. Logits and bits are seen where they are drawn.
class GenerateWatch : public EngineObserver {
 public:
  explicit GenerateWatch(ParityCheck& check) : check_(check) {}

  bool wants_tensors() const override { return true; }
  void See(std::string_view name, ConstView tensor) override {
    if (!name.ends_with(".logits") && !name.ends_with(".bits") && !name.ends_with(".summed"))
      check_.See(name, tensor);
  }
  Status ScaleDone(const ScaleReport& report, std::span<const GeneratedImage> images) override {
    for (size_t i = 0; i < images.size(); ++i) {
      check_.SeePart(fmt::format("scale{:02d}.summed", report.scale), images[i].summed.view(), i,
                     images.size());
    }
    return absl::OkStatus();
  }

 private:
  ParityCheck& check_;
};

StatusOr<BatchResult> Generate(const ParityRun& run, const Engine& engine,
                               const std::vector<PromptText>& texts) {
  const ParityCase& c = run.request;
  std::vector<ReplayedBits> bits;
  for (size_t i = 0; i < c.prompts.size(); ++i)
    bits.emplace_back(
        run, ReplayPlace{.image = static_cast<int64_t>(i), .images = static_cast<int64_t>(c.prompts.size())});
  std::vector<ImageJob> jobs;
  for (size_t i = 0; i < c.prompts.size(); ++i) {
    jobs.push_back({.request = RequestOfImage(c, i),
                    .prompt = &texts[i],
                    .negative = c.negative ? &texts.back() : nullptr,
                    .bits = &bits[i]});
  }
  GenerateWatch watch(run.check);
  BatchOptions options;
  options.observer = &watch;
  options.cancel = run.cancel;
  options.prune = c.prune;
  NS_ASSIGN_OR_RETURN(options.kv, PolicyOfCase(c, engine.info().transformer->depth));
  return engine.Generate(jobs, options, run.ops);
}

// The decoder's output in floats, and the bytes that the engine makes of it.
Status DecodeImages(const ParityRun& run, const ModelFiles& files, const Engine& engine,
                    const BatchResult& result) {
  NS_ASSIGN_OR_RETURN(const std::unique_ptr<Vae> vae,
                      Vae::Load(*files.vae, run.type, VaeParts::kDecoder, run.ops));
  const int64_t stride = vae->config().stride();
  for (size_t i = 0; i < result.images.size(); ++i) {
    const ConstView summed = result.images[i].summed.view();
    Tensor image(DType::kF32, {3, summed.dim(1) * stride, summed.dim(2) * stride},
                 {run.ops.ledger, Account::kActivations});
    NS_RETURN_IF_ERROR(vae->Decode(summed, image.view(), run.ops, run.cancel));
    run.check.SeePart("image", image.view(), i, result.images.size());
    NS_ASSIGN_OR_RETURN(const Image picture, engine.Decode(summed, run.ops, run.cancel));
    run.check.SeePart("pixels",
                      ConstView(reinterpret_cast<const std::byte*>(picture.rgb.data()), DType::kU8,
                                {picture.height, picture.width, 3}),
                      i, result.images.size());
  }
  return absl::OkStatus();
}

}  // namespace

Status RunGenerateCase(const ParityRun& run) {
  const ParityCase& c = run.request;
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel(c.model));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  std::vector<std::string> prompts = c.prompts;
  if (c.negative) prompts.push_back(*c.negative);
  NS_ASSIGN_OR_RETURN(const std::vector<PromptText> texts,
                      EncodePrompts(files, info, prompts, run.type, run.ops, run.cancel));
  for (size_t i = 0; i < c.prompts.size(); ++i) SeeText(fmt::format("prompt{}", i), texts[i], run.check);
  if (c.negative) SeeText("negative", texts.back(), run.check);

  const EngineTypes types{.transformer = run.type, .vae = run.type, .text = run.type};
  NS_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(files, info, types, run.ops));
  NS_ASSIGN_OR_RETURN(const BatchResult result, Generate(run, *engine, texts));
  return DecodeImages(run, files, *engine, result);
}

}  // namespace nextscale
