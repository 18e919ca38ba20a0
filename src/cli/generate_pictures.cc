// See generate_pictures.h.
#include "cli/generate_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/batch_jobs.h"
#include "cli/bits_file.h"
#include "cli/contact_sheet.h"
#include "cli/format.h"
#include "cli/kept_tokens.h"
#include "engine/codes.h"
#include "engine/engine.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;

// Adds the seconds of its scope.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

// "pictures 0,2,3: ", the first few.
std::string PictureNumbers(const std::vector<size_t>& batch) {
  constexpr size_t kShown = 4;
  const std::vector<size_t> shown(batch.begin(), batch.begin() + std::min(batch.size(), kShown));
  return fmt::format("picture{} {}{}: ", batch.size() > 1 ? "s" : "", fmt::join(shown, ","),
                     batch.size() > kShown ? ",..." : "");
}

class PictureMaker {
 public:
  PictureMaker(const PictureRun& run, RunReport& report)
      : run_(run),
        task_(run.task),
        report_(report),
        sheet_(run.flags.grid.empty() ? 0 : task_.pictures.size()) {
    for (const std::vector<size_t>& batch : task_.batches) {
      const Picture& first = task_.pictures[batch[0]];
      for (int64_t k = 0; k < first.request.schedule.scales(); ++k) total_scales_ += !first.prune.Skips(k);
    }
  }

  Status Run() {
    NS_RETURN_IF_ERROR(EncodeText());
    NS_RETURN_IF_ERROR(Load());
    for (const std::vector<size_t>& batch : task_.batches) NS_RETURN_IF_ERROR(MakeBatch(batch));
    if (const std::string kv = KvText(report_.scales); !kv.empty()) run_.progress.Notice(kv);
    if (sheet_.empty()) return absl::OkStatus();
    const Stopwatch watch(report_.seconds.write);
    return WriteImage(run_.flags.grid, ContactSheet(sheet_), {});
  }

 private:
  Status EncodeText() {
    const Stopwatch watch(report_.seconds.text);
    NS_ASSIGN_OR_RETURN(texts_, EncodeTexts(task_, run_.ops, run_.cancel, run_.progress));
    return absl::OkStatus();
  }

  Status Load() {
    const Stopwatch watch(report_.seconds.load);
    run_.progress.Notice(fmt::format("loading {}", task_.run.model));
    NS_ASSIGN_OR_RETURN(engine_, Engine::Load(task_.files, task_.info, task_.run.types, run_.ops));
    return absl::OkStatus();
  }

  // Shows scales as they are done, and writes previews.
  class Watcher : public EngineObserver {
   public:
    Watcher(PictureMaker& maker, const std::vector<size_t>& batch) : maker_(maker), batch_(batch) {}
    bool wants_tensors() const override { return maker_.run_.flags.kept; }
    void ScaleBegins(int64_t, MapSize map) override { maker_.kept_.Begin(map); }
    void See(std::string_view name, ConstView tensor) override { maker_.kept_.See(name, tensor); }
    Status ScaleDone(const ScaleReport& scale, std::span<const GeneratedImage> images) override {
      maker_.ShowScale(scale, batch_);
      return maker_.run_.flags.preview.empty() ? absl::OkStatus()
                                               : maker_.WritePreviews(scale, batch_, images);
    }

   private:
    PictureMaker& maker_;
    const std::vector<size_t>& batch_;
  };

  void ShowScale(const ScaleReport& s, const std::vector<size_t>& batch) {
    ++scales_done_;
    const std::string pictures = task_.pictures.size() == 1 ? "" : PictureNumbers(batch);
    const std::string text = fmt::format("{}map {}x{}, {} tokens, {:.2f} s, KV {}", pictures, s.map.h,
                                         s.map.w, s.map.tokens(), s.seconds, HumanBytes(s.kv_bytes));
    run_.progress.Step("scale", scales_done_, total_scales_, text,
                       {{"pictures", batch},
                        {"scale", s.scale},
                        {"map", {s.map.h, s.map.w}},
                        {"tokens", s.map.tokens()},
                        {"seconds", s.seconds},
                        {"kv_bytes", s.kv_bytes}});
  }

  Status WritePreviews(const ScaleReport& scale, const std::vector<size_t>& batch,
                       std::span<const GeneratedImage> images) {
    for (size_t i = 0; i < images.size(); ++i) {
      const ConstView summed = images[i].summed.view();
      StatusOr<Image> picture = run_.flags.preview_size == "full"
                                    ? engine_->Decode(summed, run_.ops, run_.cancel)
                                    : engine_->DecodePreview(summed, scale.map, run_.ops, run_.cancel);
      NS_RETURN_IF_ERROR(picture.status());
      const fs::path folder = run_.flags.preview;
      const std::string name = fmt::format("{:04d}-scale{:02d}", batch[i], scale.scale);
      NS_RETURN_IF_ERROR(WriteImage((folder / (name + ".png")).string(), *picture, {}));
      if (kept_.empty()) continue;
      const Image dimmed = kept_.Draw(*std::move(picture), static_cast<int64_t>(i));
      NS_RETURN_IF_ERROR(WriteImage((folder / (name + "-kept.png")).string(), dimmed, {}));
    }
    return absl::OkStatus();
  }

  Status MakeBatch(const std::vector<size_t>& batch) {
    const BatchJobs batch_jobs = JobsOf(task_, batch, texts_);
    Watcher watcher(*this, batch);
    const Picture& first = task_.pictures[batch.front()];
    NS_ASSIGN_OR_RETURN(
        const BatchResult result,
        engine_->Generate(batch_jobs.jobs,
                          {.kv = first.kv, .prune = first.prune, .observer = &watcher, .cancel = run_.cancel},
                          run_.ops));
    report_.seconds.transformer += result.seconds;
    report_.scales.insert(report_.scales.end(), result.scales.begin(), result.scales.end());
    for (size_t i = 0; i < batch.size(); ++i) NS_RETURN_IF_ERROR(Finish(batch[i], result.images[i]));
    return absl::OkStatus();
  }

  Status Finish(size_t index, const GeneratedImage& made) {
    const Picture& picture = task_.pictures[index];
    StatusOr<Image> image = Decode(made);
    NS_RETURN_IF_ERROR(image.status());
    const Stopwatch watch(report_.seconds.write);
    const ImageText text = run_.flags.no_metadata ? ImageText() : SettingsText(picture, task_.run);
    NS_RETURN_IF_ERROR(WriteImage(picture.output, *image, text));
    if (!run_.bits_paths.empty()) NS_RETURN_IF_ERROR(SaveBits(index, made));
    report_.written.push_back(index);
    run_.progress.EndBar();
    fmt::print("{}  seed {}  {}x{}\n", picture.output, picture.request.seed, image->width, image->height);
    std::fflush(stdout);
    if (!sheet_.empty()) sheet_[index] = *std::move(image);
    return absl::OkStatus();
  }

  StatusOr<Image> Decode(const GeneratedImage& made) {
    const Stopwatch watch(report_.seconds.vae);
    return engine_->Decode(made.summed.view(), run_.ops, run_.cancel);
  }

  Status SaveBits(size_t index, const GeneratedImage& made) {
    std::vector<Tensor> latent;
    for (size_t k = 0; k < made.bits.size(); ++k) {
      latent.push_back(LatentBits(made.bits[k].view(), task_.pictures[index].request.schedule.maps[k],
                                  task_.info.patchify, {}));
    }
    return WriteBitsFile(run_.bits_paths[index], latent);
  }

  const PictureRun& run_;
  const GenerateTask& task_;
  RunReport& report_;
  std::vector<PromptText> texts_;
  std::unique_ptr<Engine> engine_;
  KeptTokens kept_;           // of the scale that runs, with --kept
  std::vector<Image> sheet_;  // by picture, with --grid
  int64_t total_scales_ = 0, scales_done_ = 0;
};

}  // namespace

Status MakePictures(const PictureRun& run, RunReport& report) { return PictureMaker(run, report).Run(); }

}  // namespace nextscale
