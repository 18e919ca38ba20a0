#include "cli/calibrate_run.h"

#include <fmt/format.h>

#include "cli/batch_jobs.h"

namespace nextscale {

StatusOr<LoadedModel> LoadForCalibration(const CalibrationRun& run) {
  const GenerateTask& task = run.task;
  LoadedModel model;
  NS_ASSIGN_OR_RETURN(model.texts, EncodeTexts(task, run.ops, run.cancel, run.progress));
  run.progress.Notice(fmt::format("loading {}", task.run.model));
  NS_ASSIGN_OR_RETURN(model.engine, Engine::Load(task.files, task.info, task.run.types, run.ops));
  return model;
}

Status WatchPicture(const CalibrationRun& run, const LoadedModel& model, size_t picture,
                    EngineObserver& observer) {
  const BatchJobs batch = JobsOf(run.task, {picture}, model.texts);
  return model.engine->Generate(batch.jobs, {.observer = &observer, .cancel = run.cancel}, run.ops).status();
}

StatusOr<std::vector<MeasuredPrompt>> MeasurePrompts(const CalibrationRun& run, const LoadedModel& model) {
  const std::vector<Picture>& pictures = run.task.pictures;
  const int64_t scales = pictures[0].request.schedule.scales(), layers = run.task.info.transformer->depth;
  std::vector<MeasuredPrompt> measured;
  for (size_t i = 0; i < pictures.size(); ++i) {
    AttentionStatistics statistics(scales, layers, run.statistics, run.ops);
    NS_RETURN_IF_ERROR(WatchPicture(run, model, i, statistics));
    measured.push_back(
        {.prompt = pictures[i].request.prompt, .tables = statistics.tables(), .heads = statistics.heads()});
    run.progress.Step("prompt", static_cast<int64_t>(i + 1), static_cast<int64_t>(pictures.size()),
                      pictures[i].request.prompt, nlohmann::ordered_json::object());
  }
  return measured;
}

}  // namespace nextscale
