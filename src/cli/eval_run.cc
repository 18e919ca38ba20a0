#include "cli/eval_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "cli/batch_jobs.h"
#include "cli/picture_settings.h"
#include "engine/engine.h"
#include "metrics/psnr.h"

namespace nextscale {
namespace {

// What one setting made of a batch.
struct BatchPictures {
  std::vector<Image> images;
  std::vector<std::vector<Tensor>> bits;  // [image][scale]
  double seconds = 0;
  int64_t kv_bytes = 0;
};

double AgreeingBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  int64_t agreeing = 0, all = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].elements() == 0 || b[k].elements() == 0) continue;  // a skipped scale
    NS_CHECK(a[k].shape() == b[k].shape());
    for (int64_t i = 0; i < a[k].elements(); ++i)
      agreeing += a[k].data<uint8_t>()[i] == b[k].data<uint8_t>()[i];
    all += a[k].elements();
  }
  return static_cast<double>(agreeing) / static_cast<double>(std::max<int64_t>(all, 1));
}

class Evaluation {
 public:
  Evaluation(const EvalRun& run, EvalOutcome& outcome) : run_(run), task_(run.task), outcome_(outcome) {
    for (const EvalSetting& s : run.settings) outcome.results.push_back({.variant = s.variant});
  }

  Status Run() {
    NS_ASSIGN_OR_RETURN(texts_, EncodeTexts(task_, run_.ops, run_.cancel, run_.progress));
    run_.progress.Notice(fmt::format("loading {}", task_.run.model));
    NS_ASSIGN_OR_RETURN(engine_, Engine::Load(task_.files, task_.info, task_.run.types, run_.ops));
    for (const std::vector<size_t>& batch : task_.batches) NS_RETURN_IF_ERROR(CompareBatch(batch));
    return absl::OkStatus();
  }

 private:
  Status CompareBatch(const std::vector<size_t>& batch) {
    std::vector<EvalResult> results = outcome_.results;
    BatchPictures full;
    for (size_t v = 0; v < run_.settings.size(); ++v) {
      BatchPictures other;
      BatchPictures& made = v == 0 ? full : other;
      NS_RETURN_IF_ERROR(MakeBatch(batch, run_.settings[v], made));
      results[v].seconds += made.seconds;
      results[v].kv_bytes = std::max(results[v].kv_bytes, made.kv_bytes);
      for (size_t i = 0; i < batch.size(); ++i) {
        results[v].distances.push_back({.psnr = Psnr(full.images[i], made.images[i]),
                                        .ssim = Ssim(full.images[i], made.images[i]),
                                        .bits = AgreeingBits(full.bits[i], made.bits[i])});
      }
    }
    outcome_.results = std::move(results);
    outcome_.made.insert(outcome_.made.end(), batch.begin(), batch.end());
    return absl::OkStatus();
  }

  Status MakeBatch(const std::vector<size_t>& batch, const EvalSetting& setting, BatchPictures& out) {
    run_.ops.scratch.Clear();  // another setting's sizes are not held beside this one's
    const BatchJobs batch_jobs = JobsOf(task_, batch, texts_);
    const Picture& first = setting.pictures[batch.front()];
    NS_ASSIGN_OR_RETURN(
        BatchResult result,
        engine_->Generate(batch_jobs.jobs, {.kv = first.kv, .prune = first.prune, .cancel = run_.cancel},
                          run_.ops));
    out.seconds = result.seconds;
    for (const ScaleReport& scale : result.scales) out.kv_bytes = std::max(out.kv_bytes, scale.kv_bytes);
    for (size_t i = 0; i < batch.size(); ++i) {
      StatusOr<Image> image = engine_->Decode(result.images[i].summed.view(), run_.ops, run_.cancel);
      NS_RETURN_IF_ERROR(image.status());
      NS_RETURN_IF_ERROR(Write(batch[i], setting, *image));
      out.images.push_back(*std::move(image));
      out.bits.push_back(std::move(result.images[i].bits));
    }
    ShowBatch(batch, setting, out);
    return absl::OkStatus();
  }

  Status Write(size_t index, const EvalSetting& setting, const Image& image) const {
    if (run_.folder.empty()) return absl::OkStatus();
    const std::string path =
        (std::filesystem::path(run_.folder) / EvalPictureName(index, setting.variant.name)).string();
    return WriteImage(path, image,
                      run_.no_metadata ? ImageText() : SettingsText(setting.pictures[index], task_.run));
  }

  void ShowBatch(const std::vector<size_t>& batch, const EvalSetting& setting, const BatchPictures& made) {
    pictures_done_ += static_cast<int64_t>(batch.size());
    const int64_t total = static_cast<int64_t>(task_.pictures.size() * run_.settings.size());
    run_.progress.Step("picture", pictures_done_, total,
                       fmt::format("{}, transformer {:.2f} s", setting.variant.name, made.seconds),
                       {{"setting", setting.variant.name}, {"pictures", batch}, {"seconds", made.seconds}});
  }

  const EvalRun& run_;
  const GenerateTask& task_;
  EvalOutcome& outcome_;
  std::vector<PromptText> texts_;
  std::unique_ptr<Engine> engine_;
  int64_t pictures_done_ = 0;
};

}  // namespace

std::string EvalPictureName(size_t index, const std::string& setting) {
  std::string name;
  for (const char c : setting) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '=';
    name += c == '%' ? "pct" : plain ? std::string(1, c) : c == ',' ? "_" : "-";
  }
  return fmt::format("{:04d}-{}.png", index, name);
}

Status RunEval(const EvalRun& run, EvalOutcome& outcome) { return Evaluation(run, outcome).Run(); }

}  // namespace nextscale
