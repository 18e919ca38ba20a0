// From the flags of a cache policy to all its settings: the one place where ScaleKV's plans are found, read
// and checked against the model.
#pragma once

#include <map>
#include <string>

#include "calibration/apply_plan.h"
#include "checkpoint/model_files.h"
#include "cli/kv_flags.h"
#include "model/config.h"

namespace nextscale {

// The plans of one model's run; each file is read once.
class KvPlans {
 public:
  // `model` is looked at as long as this lives.
  KvPlans(const ModelFiles& model, const TransformerConfig& config)
      : model_(model), target_{.layers = config.depth, .heads = config.heads} {}

  // `flags` with, for the two ScaleKV policies, what the plan of --kv-plan says, else the package's plan; it
  // has to fit the model, and a picture of `scales` scales. Errors: of ParseKvFlags, ParsePlanFile,
  // CheckPlanFits and ApplyPlan; CallError for scalekv without any plan.
  StatusOr<KvOptions> Resolve(const KvFlags& flags, int64_t scales);

 private:
  // `path`, or "" for the package's plan.
  StatusOr<const PlanFile*> Find(const std::string& path);
  StatusOr<PlanFile> Read(const std::string& path) const;

  const ModelFiles& model_;
  PlanTarget target_;                      // its fingerprint is found when a plan asks for it
  std::map<std::string, PlanFile> found_;  // by path
};

}  // namespace nextscale
