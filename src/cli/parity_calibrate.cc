#include <fmt/format.h>

#include "calibration/attention_statistics.h"
#include "cli/parity_replay.h"
#include "cli/parity_run.h"
#include "engine/engine.h"

namespace nextscale {
namespace {

// Rows one after another, as a tensor of these values.
template <typename To, typename From>
void SeeRows(const std::string& name, const std::vector<std::vector<From>>& rows, ParityCheck& check,
             int64_t part = 0, int64_t parts = 1) {
  std::vector<To> flat;
  for (const std::vector<From>& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  check.SeePart(name,
                ConstView(reinterpret_cast<const std::byte*>(flat.data()), DTypeOf<To>::value,
                          {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}),
                part, parts);
}

StatusOr<std::vector<AttentionTables>> Measure(const ParityRun& run, const Engine& engine,
                                               const std::vector<PromptText>& texts) {
  const ParityCase& c = run.request;
  std::vector<AttentionTables> prompts;
  for (size_t i = 0; i < c.prompts.size(); ++i) {
    ReplayedBits bits(run, {.prefix = fmt::format("prompt{}.", i)});
    const ImageJob job{.request = RequestOfImage(c, i), .prompt = &texts[i], .bits = &bits};
    AttentionStatistics statistics(c.schedule.scales(), engine.info().transformer->depth,
                                   {.top = c.calibration.top}, run.ops);
    NS_RETURN_IF_ERROR(
        engine.Generate(std::span(&job, 1), {.observer = &statistics, .cancel = run.cancel}, run.ops)
            .status());
    prompts.push_back(statistics.tables());
  }
  return prompts;
}

// Drafters and budgets, from what was measured.
void SeeRoles(const ParityRun& run, const std::vector<AttentionTables>& prompts) {
  const ParityCase::Calibration& c = run.request.calibration;
  const auto drafters = [&](std::span<const AttentionTables> of, RoleMetric metric) {
    return ChooseDrafters(ZScores(MetricOf(of, metric, 0)), c.drafter_count);
  };
  for (size_t i = 0; i < prompts.size(); ++i) {
    SeeRows<double>("current", prompts[i].current, run.check, i, prompts.size());
    SeeRows<double>("top", prompts[i].top, run.check, i, prompts.size());
    SeeRows<uint8_t>("drafters.by_prompt", drafters(std::span(&prompts[i], 1), RoleMetric::kAsi), run.check,
                     i, prompts.size());
  }
  const ScaleTable asi = MetricOf(prompts, RoleMetric::kAsi, 0);
  SeeRows<double>("asi", asi, run.check);
  SeeRows<double>("z", ZScores(asi), run.check);
  const LayerFlags roles = drafters(prompts, RoleMetric::kAsi);
  SeeRows<uint8_t>("drafters", roles, run.check);
  SeeRows<uint8_t>("drafters.by_top", drafters(prompts, RoleMetric::kTopK), run.check);
  SeeRows<uint8_t>("drafters.by_current", drafters(prompts, RoleMetric::kCurrent), run.check);
  LayerTable added;
  for (MapSize map : run.request.schedule.maps)
    added.push_back(std::vector<int64_t>(roles[0].size(), map.tokens()));
  SeeRows<int32_t>(
      "budgets",
      ScaleKvBudgets(
          added, roles,
          {.uniform = c.budget, .refiner_start = c.refiner_budget, .decay = c.decay, .window = c.window}),
      run.check);
}

}  // namespace

Status RunCalibrateCase(const ParityRun& run) {
  const ParityCase& c = run.request;
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel(c.model));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  NS_ASSIGN_OR_RETURN(const std::vector<PromptText> texts,
                      EncodePrompts(files, info, c.prompts, run.type, run.ops, run.cancel));
  for (size_t i = 0; i < texts.size(); ++i) SeeText(fmt::format("prompt{}", i), texts[i], run.check);
  const EngineTypes types{.transformer = run.type, .vae = run.type, .text = run.type};
  NS_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(files, info, types, run.ops));
  const int64_t pairs = (c.schedule.scales() - 1) * info.transformer->depth;
  if (c.calibration.drafter_count > pairs) {
    return FileError(
        fmt::format("{}/request.json asks for {} drafters", c.folder, c.calibration.drafter_count),
        fmt::format("there are {} pairs of a scale after the first and a layer", pairs));
  }
  NS_ASSIGN_OR_RETURN(const std::vector<AttentionTables> prompts, Measure(run, *engine, texts));
  SeeRoles(run, prompts);
  return absl::OkStatus();
}

}  // namespace nextscale
