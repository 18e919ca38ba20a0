// A task's texts and batches as the engine takes them.
#pragma once

#include <memory>
#include <vector>

#include "base/cancel.h"
#include "cli/generate_task.h"
#include "cli/progress.h"
#include "engine/engine.h"
#include "ops/context.h"

namespace nextscale {

// The rows of each of task.texts; a notice tells of each text that was cut. Errors: of EncodePrompts.
StatusOr<std::vector<PromptText>> EncodeTexts(const GenerateTask& task, const OpContext& ops,
                                              const CancelToken* cancel, Progress& progress);

// One batch, for one run: sources of given bits can be read once.
struct BatchJobs {
  std::vector<ImageJob> jobs;
  std::vector<std::unique_ptr<BitSource>> given;  // what the jobs point to
};
// `texts`, of EncodeTexts, outlives the result.
BatchJobs JobsOf(const GenerateTask& task, const std::vector<size_t>& batch,
                 const std::vector<PromptText>& texts);

}  // namespace nextscale
