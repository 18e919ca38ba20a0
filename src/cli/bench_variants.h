// Cache policies and prunings side by side: the transformer of one model with each of them, in one table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_report.h"
#include "cli/bench_run.h"
#include "cli/kv_plans.h"
#include "cli/prune_flags.h"

namespace nextscale {

struct BenchVariant {
  std::string name;  // "scalekv 10% fastvar"
  BenchSettings settings;
  int64_t planned_resident = 0;  // while the transformer runs
  BenchResult result;
};

// Every variant that the flags expand to. roles: ScaleKV's unless --kv-plan says others; empty: of the
// model's plan. Errors: of the flags and of KvPlans.
StatusOr<std::vector<BenchVariant>> BenchVariants(const BenchSettings& settings, const KvFlags& kv,
                                                  const PruneFlags& prune, KvPlans& plans,
                                                  const LayerFlags& roles);

nlohmann::ordered_json VariantsJson(const BenchMachine& machine, const std::vector<BenchVariant>& variants);
// Ratios are to the first one.
std::string VariantsText(const BenchMachine& machine, const std::vector<BenchVariant>& variants);

}  // namespace nextscale
