// The measuring of `calibrate`: a picture of every prompt with the full cache, its attention watched.
#pragma once

#include <span>
#include <vector>

#include "base/cancel.h"
#include "calibration/make_plan.h"
#include "cli/generate_task.h"

namespace nextscale {

struct CalibrationRun {
  const GenerateTask& task;  // a picture a prompt, all of one schedule
  StatisticsOptions statistics;
  const OpContext& ops;
  const CancelToken* cancel;
  Progress& progress;
};

// The transformer loaded, and the prompts as it reads them.
struct LoadedModel {
  std::vector<PromptText> texts;  // as task.texts
  std::unique_ptr<Engine> engine;
};
// Errors: of reading; Interrupted.
StatusOr<LoadedModel> LoadForCalibration(const CalibrationRun& run);

// One picture, watched; it is not decoded. Errors: Interrupted.
Status WatchPicture(const CalibrationRun& run, const LoadedModel& model, size_t picture,
                    EngineObserver& observer);

// Of each picture in turn. Errors: as above.
StatusOr<std::vector<MeasuredPrompt>> MeasurePrompts(const CalibrationRun& run, const LoadedModel& model);

}  // namespace nextscale
