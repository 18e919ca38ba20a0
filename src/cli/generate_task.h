// All that a run of `generate` knows before anything large is loaded: files, pictures, texts, batches,
// memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/generate_flags.h"
#include "cli/generate_requests.h"
#include "cli/picture_settings.h"
#include "cli/progress.h"
#include "engine/memory_plan.h"

namespace nextscale {

// The distinct prompts and negative prompts of a run.
struct TextSet {
  std::vector<std::string> texts;
  std::map<std::string, size_t> index;  // into `texts`
  int64_t longest = 0;                  // in tokens
};

using Batches = std::vector<std::vector<size_t>>;  // indices of pictures
// Pictures of one schedule, cache policy and pruning each, at most `most`, in order of their first picture.
Batches SplitIntoBatches(const std::vector<Picture>& pictures, int64_t most);

struct RunPlan {
  MemoryPlan memory;    // of the batch with the highest peak
  PlanRequest largest;  // that batch
  bool preview = false;
};
// `preview`: pictures are decoded while the transformer's cache is held.
StatusOr<RunPlan> PlanBatches(const ModelInfo& info, const std::vector<Picture>& pictures,
                              const Batches& batches, const TextSet& texts, const EngineTypes& types,
                              bool preview);
// OK if the plan is within `limit` bytes; else WorkError that names settings that would fit.
Status CheckMemory(const ModelInfo& info, const RunPlan& plan, int64_t limit);

struct GenerateTask {
  ModelFiles files;
  ModelInfo info;
  RunSettings run;
  std::vector<Picture> pictures;
  std::vector<Tensor> given;  // of --from-bits, the scales to keep: u8 [L, d] token by token
  TextSet texts;
  Batches batches;
  RunPlan plan;
};

// Reads headers, prompts and given bits; notices are shown.
StatusOr<GenerateTask> PrepareTask(const GenerateFlags& flags, Progress& progress);
// Every place a result goes to is usable. -> the bits' paths by picture (empty without --save-bits).
StatusOr<std::vector<std::string>> CheckPlaces(const GenerateFlags& flags, const GenerateTask& task);

}  // namespace nextscale
