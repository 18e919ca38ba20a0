// Cache policies and prunings side by side: flags whose values are lists, one by one.
#pragma once

#include <string>
#include <vector>

#include "cli/kv_flags.h"
#include "cli/prune_flags.h"

namespace nextscale {

// One setting, as the flags of `generate` would say it.
struct Variant {
  std::string name;  // "scalekv 10% fastvar", "full 5=0.5,6=1"
  KvFlags kv;
  PruneFlags prune;

  bool operator==(const Variant&) const = default;
};

// Every policy with every budget (full, which has none, once) and every pruning: commas separate policies,
// budgets and presets, semicolons separate lists of ratios, which are prunings beside the presets. The preset
// "none" prunes nothing. A plan goes to the two ScaleKV policies alone if there are several policies. Values
// are not looked at.
std::vector<Variant> ExpandVariants(const KvFlags& kv, const PruneFlags& prune);

}  // namespace nextscale
