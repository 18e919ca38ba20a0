// Token pruning: the flags that `generate`, `eval` and `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "prune/pruner.h"

namespace nextscale {

// As given; a JSON line's values replace them one by one.
struct PruneFlags {
  std::string preset, ratios, source, layers;
  bool operator==(const PruneFlags&) const = default;
};

void AddPruneFlags(CLI::App& command, PruneFlags& flags);

// For a schedule of this many scales. Explicit ratios replace a preset's. Errors: CallError naming the flag.
StatusOr<PruneOptions> ParsePruneFlags(const PruneFlags& flags, int64_t scales);

}  // namespace nextscale
