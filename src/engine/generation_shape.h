// What a run's schedule, pruning and cache policy come to, before anything runs: for the loop over scales and
// for plans.
#pragma once

#include "kv/factory.h"
#include "model/scale_schedule.h"
#include "prune/pruner.h"

namespace nextscale {

struct GenerationShape {
  Pruner pruner;
  KvSetup kv;               // kv.added: the tokens that each layer runs on at each scale
  int64_t most_tokens = 0;  // of the largest map that runs
};

// Errors: CallError for options that don't fit the schedule or the depth.
StatusOr<GenerationShape> ShapeOf(const ScaleSchedule& schedule, const PruneOptions& prune,
                                  const KvOptions& kv, int64_t depth);

}  // namespace nextscale
