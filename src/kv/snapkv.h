// SnapKV (Li et al. 2024): the last tokens of the map are the observation window. PyramidKV is the same
// selection under budgets that fall over depth (budget.h).
#pragma once

#include <memory>

#include "kv/scored_policy.h"

namespace nextscale {

std::unique_ptr<KvPolicy> MakeSnapKv(const ScoredPolicyArgs& args);

}  // namespace nextscale
