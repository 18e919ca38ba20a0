#include "engine/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nextscale {

float PictureRequest::CfgAt(int64_t scale) const { return scale <= LastUncondScale() ? cfg[scale] : 1.0f; }

bool PictureRequest::guided() const {
  const int64_t scales = std::min(static_cast<int64_t>(cfg.size()), LastUncondScale() + 1);
  return std::any_of(cfg.begin(), cfg.begin() + scales, [](float c) { return c != 1.0f; });
}

Status CheckRequest(const PictureRequest& r, const ModelInfo& model) {
  const size_t scales = r.schedule.maps.size();
  if (!model.transformer || !model.vae)
    return FileError("the model has no transformer or no VAE", "both are needed to make a picture",
                     "name them by --transformer and --vae");
  if (scales == 0 || static_cast<int64_t>(scales) > model.transformer->levels) {
    return CallError(fmt::format("a schedule of {} scales", scales),
                     fmt::format("the transformer has level embeddings for {}", model.transformer->levels),
                     "ask for fewer pixels");
  }
  for (const auto& [name, values] : {std::pair("cfg", &r.cfg), std::pair("tau", &r.tau)}) {
    if (values->size() != scales) {
      return CallError(fmt::format("--{} has {} values", name, values->size()),
                       fmt::format("this picture has {} scales", scales), "give one number, or one a scale");
    }
    if (!std::all_of(values->begin(), values->end(), [](float v) { return std::isfinite(v); }))
      return CallError(fmt::format("--{} is not a finite number", name));
  }
  if (std::any_of(r.tau.begin(), r.tau.end(), [](float t) { return t <= 0; }))
    return CallError("--tau must be above 0", "it divides the logits");
  if (!(r.top_p >= 0 && r.top_p <= 1))
    return CallError(fmt::format("--top-p {}", r.top_p), "expected 0 (off) to 1");
  if (r.top_k < 0) return CallError(fmt::format("--top-k {}", r.top_k), "expected 0 (off) or more");
  if (r.uncond_until && (*r.uncond_until < 0 || *r.uncond_until >= r.schedule.scales())) {
    return CallError(fmt::format("--uncond-until {}", *r.uncond_until),
                     fmt::format("this picture has scales 0 to {}", r.schedule.scales() - 1),
                     "the last scale that is to run the unconditional stream");
  }
  if (r.cfg_insertion_layer.empty())
    return CallError("cfg_insertion_layer is empty",
                     "0 guides on the logits, -n after the n-th block from the end");
  for (int layer : r.cfg_insertion_layer) {
    if (layer > 0 || layer <= -model.transformer->depth) {
      return CallError(fmt::format("cfg_insertion_layer {}", layer),
                       fmt::format("expected 0, or -1 to -{}", model.transformer->depth - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace nextscale
