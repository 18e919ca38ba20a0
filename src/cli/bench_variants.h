// Cache policies and prunings side by side: the transformer of one model with each of them, in one table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_report.h"
#include "cli/bench_run.h"
#include "cli/kv_flags.h"
#include "cli/prune_flags.h"

namespace nextscale {

struct BenchVariant {
  std::string name;  // "scalekv 10% fastvar"
  BenchSettings settings;
  int64_t planned_resident = 0;  // while the transformer runs
  BenchResult result;
};

// One for each of ExpandVariants. drafters: ScaleKV's roles. Errors: CallError of the flags.
StatusOr<std::vector<BenchVariant>> BenchVariants(const BenchSettings& settings, const KvFlags& kv,
                                                  const PruneFlags& prune, const LayerFlags& drafters);

nlohmann::ordered_json VariantsJson(const BenchMachine& machine, const std::vector<BenchVariant>& variants);
// Ratios are to the first one.
std::string VariantsText(const BenchMachine& machine, const std::vector<BenchVariant>& variants);

}  // namespace nextscale
