#include "calibration/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace nextscale {
namespace {

using nlohmann::json;

class PlanWriter {
 public:
  void Add(std::string_view key, const json& value) { AddText(key, value.dump()); }
  // A row a line.
  template <typename Row>
  void AddRows(std::string_view key, const std::vector<Row>& rows) {
    std::string text = "[";
    for (size_t k = 0; k < rows.size(); ++k) text += (k ? ",\n  " : "\n  ") + json(rows[k]).dump();
    AddText(key, text + (rows.empty() ? "]" : "\n ]"));
  }
  std::string Finish() { return "{" + text_ + "\n}\n"; }

 private:
  void AddText(std::string_view key, const std::string& value) {
    text_ += fmt::format("{}\n {}: {}", text_.empty() ? "" : ",", json(key).dump(), value);
  }
  std::string text_;
};

json OrNull(const std::optional<int64_t>& value) { return value ? json(*value) : json(nullptr); }

}  // namespace

int64_t Plan::drafter_count() const {
  int64_t count = 0;
  for (const std::vector<bool>& row : drafters) count += std::count(row.begin(), row.end(), true);
  return count;
}

std::string PlanText(const Plan& plan) {
  std::vector<std::array<int64_t, 2>> schedule, drafters;
  for (MapSize m : plan.schedule) schedule.push_back({m.h, m.w});
  for (int64_t k = 0; k < plan.scales(); ++k) {
    for (int64_t l = 0; l < plan.depth; ++l) {
      if (plan.drafters[k][l]) drafters.push_back({k, l});
    }
  }
  json stability = json::array();
  for (const StabilityPoint& p : plan.stability)
    stability.push_back({{"prompts", p.prompts}, {"overlap", p.overlap}});

  PlanWriter writer;
  writer.Add("nextscale_plan", 1);
  writer.Add("model", plan.model);
  writer.Add("depth", plan.depth);
  writer.Add("schedule", schedule);
  writer.Add("top", plan.top);
  writer.Add("drafter_count", plan.drafter_count());
  writer.Add("refiner_start", OrNull(plan.refiner_start));
  writer.Add("decay", OrNull(plan.decay));
  writer.Add("window", OrNull(plan.window));
  writer.Add("pooling", Name(plan.pooling));
  writer.Add("metric", Name(plan.metric));
  writer.AddRows("prompts", plan.prompts);
  writer.Add("seed", plan.seed);
  writer.AddRows("current", plan.current);
  writer.AddRows("top_ratio", plan.top_ratio);
  writer.AddRows("asi", plan.asi);
  writer.AddRows("z", plan.z);
  writer.Add("drafters", drafters);
  writer.Add("stability", stability);
  if (!plan.asi_heads.empty()) writer.AddRows("asi_heads", plan.asi_heads);
  return writer.Finish();
}

}  // namespace nextscale
