// The work of `generate`: prompts encoded, the engine loaded, batches run, pictures decoded and written.
#pragma once

#include <vector>

#include "base/cancel.h"
#include "cli/generate_flags.h"
#include "cli/generate_report.h"
#include "cli/generate_task.h"
#include "cli/progress.h"
#include "ops/context.h"

namespace nextscale {

struct PictureRun {
  const GenerateFlags& flags;
  const GenerateTask& task;
  const std::vector<std::string>& bits_paths;  // by picture, or empty
  const OpContext& ops;
  const CancelToken* cancel;
  Progress& progress;
};

// Fills `report` as it goes, so that it is good for what was finished when an error or Ctrl-C ends the run.
Status MakePictures(const PictureRun& run, RunReport& report);

}  // namespace nextscale
