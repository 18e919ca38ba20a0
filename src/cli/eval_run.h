// The work of `eval`: every picture with the full cache first, then with each other setting, and how far it
// is from the first.
#pragma once

#include <string>
#include <vector>

#include "base/cancel.h"
#include "cli/generate_task.h"
#include "cli/progress.h"
#include "cli/variants.h"
#include "ops/context.h"

namespace nextscale {

// Of a picture from the full cache's.
struct PictureDistance {
  double psnr = 0;  // dB; infinity: the same bytes
  double ssim = 0;
  double bits = 0;  // share of the bits that agree, of those that both drew
};

struct EvalSetting {
  Variant variant;
  std::vector<Picture> pictures;  // the task's, with this setting's cache and pruning
};

struct EvalResult {
  Variant variant;
  std::vector<PictureDistance> distances;  // by picture, in the order they were made
  double seconds = 0;                      // in the transformer
  int64_t kv_bytes = 0;                    // the most that a batch held after a scale
};

struct EvalRun {
  const GenerateTask& task;
  const std::vector<EvalSetting>& settings;  // the full cache first
  std::string folder;                        // for NNNN-SETTING.png of each picture; empty: none are written
  bool no_metadata = false;
  const OpContext& ops;
  const CancelToken* cancel;
  Progress& progress;
};

// "NNNN-SETTING.png", the setting's name in characters that need no quoting.
std::string EvalPictureName(size_t index, const std::string& setting);

struct EvalOutcome {
  std::vector<size_t> made;         // indices of the pictures that all settings made
  std::vector<EvalResult> results;  // one a setting
};

// Batch by batch; the same seeds, and so the same draws, for all settings. `outcome` is good for whole
// batches when an error or Ctrl-C ends the run. Errors: of loading, running and writing; Interrupted.
Status RunEval(const EvalRun& run, EvalOutcome& outcome);

}  // namespace nextscale
