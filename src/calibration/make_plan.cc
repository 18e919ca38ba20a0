#include "calibration/make_plan.h"

#include "base/check.h"

namespace nextscale {
namespace {

std::vector<AttentionTables> TablesOf(std::span<const MeasuredPrompt> prompts) {
  std::vector<AttentionTables> tables;
  for (const MeasuredPrompt& p : prompts) tables.push_back(p.tables);
  return tables;
}

// Mean over prompts of each head's own index, [K][L][H].
std::vector<ScaleTable> HeadIndex(std::span<const MeasuredPrompt> prompts) {
  std::vector<ScaleTable> index = prompts[0].heads.current;
  for (size_t k = 0; k < index.size(); ++k) {
    std::vector<ScaleTable> by_prompt;
    for (const MeasuredPrompt& p : prompts)
      by_prompt.push_back(SelectivityIndex({.current = p.heads.current[k], .top = p.heads.top[k]}));
    index[k] = MeanOf(by_prompt);
  }
  return index;
}

}  // namespace

Plan MakePlan(const std::string& model, const std::vector<MapSize>& schedule,
              std::span<const MeasuredPrompt> prompts, const PlanSettings& settings) {
  NS_CHECK(!prompts.empty() && prompts[0].tables.current.size() == schedule.size(), "{} prompts",
           prompts.size());
  const std::vector<AttentionTables> tables = TablesOf(prompts);
  Plan plan{.model = model,
            .depth = static_cast<int64_t>(tables[0].current[0].size()),
            .schedule = schedule,
            .top = settings.top,
            .refiner_start = settings.refiner_start,
            .decay = settings.decay,
            .window = settings.window,
            .pooling = settings.pooling,
            .metric = settings.metric,
            .seed = settings.seed};
  for (const MeasuredPrompt& p : prompts) plan.prompts.push_back(p.prompt);
  AttentionTables mean = MeanOf(tables);
  plan.current = std::move(mean.current);
  plan.top_ratio = std::move(mean.top);
  plan.asi = MetricOf(tables, RoleMetric::kAsi, 0);
  plan.z = ZScores(MetricOf(tables, settings.metric, settings.seed));
  const int64_t count = settings.drafter_count.value_or(DefaultDrafterCount(plan.scales(), plan.depth));
  plan.drafters = ChooseDrafters(plan.z, count);
  plan.stability = Stability(tables, settings.metric, count, settings.seed);
  if (!prompts[0].heads.current.empty()) plan.asi_heads = HeadIndex(prompts);
  return plan;
}

std::vector<double> OverlapsOfSets(std::span<const MeasuredPrompt> prompts, int64_t sets, RoleMetric metric,
                                   int64_t drafter_count, uint64_t seed) {
  const size_t size = prompts.size() / static_cast<size_t>(sets);
  NS_CHECK(sets > 0 && size > 0, "{} sets of {} prompts", sets, prompts.size());
  std::vector<LayerFlags> drafters;
  for (size_t i = 0; i < static_cast<size_t>(sets); ++i) {
    const std::vector<AttentionTables> tables = TablesOf(prompts.subspan(i * size, size));
    drafters.push_back(ChooseDrafters(ZScores(MetricOf(tables, metric, seed)), drafter_count));
  }
  std::vector<double> overlaps;
  for (size_t i = 0; i < drafters.size(); ++i) {
    for (size_t j = i + 1; j < drafters.size(); ++j) overlaps.push_back(Overlap(drafters[i], drafters[j]));
  }
  return overlaps;
}

}  // namespace nextscale
