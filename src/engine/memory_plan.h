// How much memory a run will need, by account and at its peak, foretold from shapes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace nextscale {

struct MemoryPlan {
  std::array<int64_t, kAccounts> accounts{};  // peak of each
  struct Phase {
    std::string name;   // "text", "transformer", "vae"
    int64_t bytes = 0;  // resident in it, the program itself included
  };
  int64_t full_kv = 0;  // kv's peak with every token of both streams, in the transformer's type
  std::vector<Phase> phases;
  int64_t peak = 0;  // the largest phase
};

struct PlanRequest {
  ScaleSchedule schedule;  // the largest of the run
  int64_t batch = 1;       // images at once
  bool guided = true;
  std::optional<int> uncond_until;  // the batch's last, as PictureRequest's
  int64_t text_tokens = 64;         // of the longest prompt
  int64_t prompts = 1;              // distinct ones, negative included
  EngineTypes types;
  KvOptions kv;
  PruneOptions prune;
  int threads = 1;

  int64_t StreamsAt(int64_t scale) const;
};

// Errors: CallError of MakeKvSetup for KV options that don't fit.
StatusOr<MemoryPlan> PlanMemory(const ModelInfo& info, const PlanRequest& request);

}  // namespace nextscale
