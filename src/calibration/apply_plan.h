// What a plan file, or a published budget file, means for a request's cache.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "calibration/budget_file.h"
#include "calibration/plan.h"
#include "kv/kv_options.h"

namespace nextscale {

// Either form of plan.
struct PlanFile {
  std::string name;  // for messages
  std::variant<Plan, BudgetFile> content;
};
// By its keys. Errors: of ParsePlan and ParseBudgetFile.
StatusOr<PlanFile> ParsePlanFile(std::string_view text, const std::string& name);

// The model that a plan is to be used with.
struct PlanTarget {
  std::string fingerprint;  // ModelFingerprint of its transformer
  int64_t layers = 0, heads = 0;
};
// Errors: CallError if the plan was made for another model: another fingerprint, or, as published budget
// files carry none, another number of blocks.
Status CheckPlanFits(const PlanFile& plan, const PlanTarget& target);

// Roles and parameters of the plan into `kv`; what is set there already stays. Errors: CallError for a plan
// of another number of scales than the request's.
Status ApplyPlan(const PlanFile& plan, int64_t scales, KvOptions& kv);

}  // namespace nextscale
