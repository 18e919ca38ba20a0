// Runs a model's stages as `generate` does, one after the other, and notes time and work of each scale and
// op.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/profiler.h"
#include "engine/engine.h"
#include "engine/memory_plan.h"

namespace nextscale {

struct BenchSettings {
  ScaleSchedule schedule;
  int64_t batch = 1;                // pictures at once
  bool guided = true;               // two streams each
  std::optional<int> uncond_until;  // as PictureRequest's
  EngineTypes types;
  int64_t text_tokens = 64;
  int repeat = 1;
  int threads = 1;
  bool text = true, transformer = true, vae = true;  // which stages run
  KvOptions kv;
  PruneOptions prune;

  PlanRequest Plan() const;
};

using ProfileEntries = std::map<std::string, Profiler::Entry, std::less<>>;

struct BenchScale {
  int64_t scale = 0;
  MapSize map;
  double seconds = 0;
  ProfileEntries ops;
  int64_t kv_bytes = 0;
};

struct BenchStage {
  double load_seconds = 0, seconds = 0;  // the median of the repeats
  double flop = 0;                       // of one run, from shapes
  ProfileEntries ops;                    // of that run
};

struct BenchResult {
  BenchStage text, transformer, vae;
  std::vector<BenchScale> scales;                  // each the median of the repeats, by its seconds
  std::array<int64_t, kAccounts> account_peaks{};  // bytes
  int64_t peak_resident = 0;                       // VmHWM
};

// Errors: of loading and of running; Interrupted.
StatusOr<BenchResult> RunBench(const ModelFiles& files, const ModelInfo& info, const BenchSettings& settings,
                               const CancelToken* cancel);

// The transformer alone, loaded once, with each of these settings in turn; they differ in kv and prune only.
// Each result's memory is that of its own run. At least one. Errors: as RunBench.
StatusOr<std::vector<BenchResult>> RunTransformerBenches(const ModelFiles& files, const ModelInfo& info,
                                                         std::span<const BenchSettings> settings,
                                                         const CancelToken* cancel);

// The work of the stages from shapes, for plans: text, transformer, VAE.
struct BenchWork {
  double text = 0, linear = 0, attention = 0, vae = 0;
};
// Errors: CallError for a policy or a pruning that doesn't fit the schedule.
StatusOr<BenchWork> WorkOf(const ModelInfo& info, const BenchSettings& settings);

}  // namespace nextscale
