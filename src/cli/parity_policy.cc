#include "cli/parity_policy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "calibration/apply_plan.h"

namespace nextscale {
namespace {

using nlohmann::json;

// Throws json's exceptions.
KvOptions Parse(const json& policy, const ParityCase& request, int64_t depth) {
  KvOptions kv;
  if (policy.contains("budget")) kv.budget_tokens = policy.at("budget").get<int64_t>();
  if (policy.contains("window")) kv.window = policy.at("window").get<int64_t>();
  if (policy.contains("refiner_budget")) kv.refiner_start = policy.at("refiner_budget").get<int64_t>();
  if (policy.contains("decay")) kv.decay = policy.at("decay").get<int64_t>();
  kv.sinks = policy.value("sinks", kv.sinks);
  kv.beta = policy.value("beta", kv.beta);
  kv.reference_start = policy.value("start", kv.reference_start);
  if (policy.contains("drafters")) {
    kv.drafters.assign(request.schedule.maps.size(), std::vector<bool>(depth, false));
    for (const json& pair : policy.at("drafters"))
      kv.drafters.at(pair.at(0).get<size_t>()).at(pair.at(1).get<size_t>()) = true;
  }
  return kv;
}

}  // namespace

StatusOr<KvOptions> PolicyOfCase(const ParityCase& request, int64_t depth) {
  const std::string where = request.folder + "/request.json";
  try {
    const json policy = json::parse(request.policy);
    KvOptions kv = Parse(policy, request, depth);
    if (policy.contains("file")) {
      const std::string path = request.folder + "/" + policy.at("file").get<std::string>();
      NS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
      NS_ASSIGN_OR_RETURN(const PlanFile plan, ParsePlanFile(text, path));
      NS_RETURN_IF_ERROR(CheckPlanFits(plan, {.layers = depth}));
      NS_RETURN_IF_ERROR(ApplyPlan(plan, request.schedule.scales(), kv));
    }
    NS_ASSIGN_OR_RETURN(kv.policy, ParseKvPolicy(policy.at("name").get<std::string>()));
    return kv;
  } catch (const std::exception& e) {  // json's, or a drafter outside the table
    return FileError(where + ": its policy is not of golden form", e.what());
  }
}

}  // namespace nextscale
