#include "calibration/apply_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nextscale {
namespace {

constexpr const char* kMakeOne = "make one for it with `nextscale calibrate`";

template <typename T>
void SetIfUnset(std::optional<T>& option, const std::optional<T>& value) {
  if (!option) option = value;
}

}  // namespace

StatusOr<PlanFile> ParsePlanFile(std::string_view text, const std::string& name) {
  const nlohmann::json file = nlohmann::json::parse(text, nullptr, false);
  const bool published = file.is_object() && !file.contains("nextscale_plan") &&
                         std::any_of(file.items().begin(), file.items().end(),
                                     [](const auto& item) { return item.key().starts_with("Scale "); });
  if (published) {
    NS_ASSIGN_OR_RETURN(BudgetFile budgets, ParseBudgetFile(text, name));
    return PlanFile{name, std::move(budgets)};
  }
  NS_ASSIGN_OR_RETURN(Plan plan, ParsePlan(text, name));
  return PlanFile{name, std::move(plan)};
}

Status CheckPlanFits(const PlanFile& file, const PlanTarget& target) {
  if (const BudgetFile* budgets = std::get_if<BudgetFile>(&file.content)) {
    const int64_t blocks = static_cast<int64_t>(budgets->rows[0].drafter.size());
    if (blocks == target.layers) return absl::OkStatus();
    return CallError(fmt::format("{} is a budget file for another model", file.name),
                     fmt::format("it has {} blocks, the model {} layers", blocks, target.layers), kMakeOne);
  }
  const Plan& plan = std::get<Plan>(file.content);
  const int64_t heads =
      plan.asi_heads.empty() ? target.heads : static_cast<int64_t>(plan.asi_heads[0][0].size());
  if (plan.model == target.fingerprint && plan.depth == target.layers && heads == target.heads)
    return absl::OkStatus();
  return CallError(fmt::format("{} is a plan for another model", file.name),
                   plan.depth == target.layers && heads == target.heads
                       ? fmt::format("its model's fingerprint is {:.12}..., this one's {:.12}...", plan.model,
                                     target.fingerprint)
                       : fmt::format("its model has {} layers of {} heads, this one {} of {}", plan.depth,
                                     heads, target.layers, target.heads),
                   kMakeOne);
}

Status ApplyPlan(const PlanFile& file, int64_t scales, KvOptions& kv) {
  if (const BudgetFile* budgets = std::get_if<BudgetFile>(&file.content)) {
    kv.file_budgets = BudgetTable(*budgets, scales, static_cast<int64_t>(budgets->rows[0].drafter.size()));
    return absl::OkStatus();
  }
  const Plan& plan = std::get<Plan>(file.content);
  if (plan.scales() != scales) {
    return CallError(fmt::format("{} is a plan for pictures of {} scales", file.name, plan.scales()),
                     fmt::format("this one has {}", scales),
                     "another size, or a plan made at this size with `nextscale calibrate`");
  }
  kv.drafters = plan.drafters;
  kv.head_asi = plan.asi_heads;
  SetIfUnset(kv.window, plan.window);
  SetIfUnset(kv.refiner_start, plan.refiner_start);
  SetIfUnset(kv.decay, plan.decay);
  SetIfUnset(kv.pooling, std::optional(plan.pooling));
  return absl::OkStatus();
}

}  // namespace nextscale
