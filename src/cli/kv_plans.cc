#include "cli/kv_plans.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "calibration/fingerprint.h"

namespace nextscale {

StatusOr<PlanFile> KvPlans::Read(const std::string& path) const {
  if (path.empty()) return ParsePlanFile(model_.plan, fmt::format("the plan in {}", model_.name));
  NS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  return ParsePlanFile(text, path);
}

StatusOr<const PlanFile*> KvPlans::Find(const std::string& path) {
  if (const auto it = found_.find(path); it != found_.end()) return &it->second;
  NS_ASSIGN_OR_RETURN(PlanFile plan, Read(path));
  if (std::holds_alternative<Plan>(plan.content) && target_.fingerprint.empty()) {
    NS_ASSIGN_OR_RETURN(target_.fingerprint, ModelFingerprint(*model_.transformer));
  }
  NS_RETURN_IF_ERROR(CheckPlanFits(plan, target_));
  return &found_.emplace(path, std::move(plan)).first->second;
}

StatusOr<KvOptions> KvPlans::Resolve(const KvFlags& flags, int64_t scales) {
  NS_ASSIGN_OR_RETURN(KvOptions kv, ParseKvFlags(flags));
  const bool reference = kv.policy == KvPolicyKind::kScaleKvReference;
  if (kv.policy != KvPolicyKind::kScaleKv && !reference) return kv;
  if (flags.plan.empty() && model_.plan.empty()) {
    if (reference) return kv;  // the public code's selection under one budget for all layers
    return CallError("--kv scalekv without a plan",
                     fmt::format("{} carries none, so its drafters are not known", model_.name),
                     "make one with `nextscale calibrate` and give it by --kv-plan");
  }
  NS_ASSIGN_OR_RETURN(const PlanFile* plan, Find(flags.plan));
  NS_RETURN_IF_ERROR(ApplyPlan(*plan, scales, kv));
  return kv;
}

}  // namespace nextscale
