#include "kv/factory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kv/scalekv.h"
#include "kv/scalekv_reference.h"
#include "kv/sliding_window.h"
#include "kv/snapkv.h"
#include "kv/streaming_llm.h"

namespace nextscale {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
// The paper's setting at 10% of 2B, in proportion: B_r(0) = 600 and delta = 70 of 650 tokens.
constexpr double kRefinerShare = 600.0 / 650.0, kDecayShare = 70.0 / 650.0;

bool Runs(const std::vector<int64_t>& added) {
  return std::any_of(added.begin(), added.end(), [](int64_t n) { return n > 0; });
}

std::vector<int64_t> ScaleEnds(const std::vector<MapSize>& maps) {
  std::vector<int64_t> ends;
  for (MapSize m : maps) ends.push_back((ends.empty() ? 0 : ends.back()) + m.tokens());
  return ends;
}

// The public code leaves a layer alone until its cache has exceeded `start`.
LayerTable WithoutLimitUntil(LayerTable budgets, const LayerTable& added, int64_t start) {
  for (size_t l = 0; l < budgets[0].size(); ++l) {
    int64_t held = 0;
    for (size_t k = 0; k + 1 < budgets.size(); ++k) {
      held += added[k][l];
      if (held > start) break;
      budgets[k + 1][l] = kNoLimit;
    }
  }
  return budgets;
}

Status CheckDrafters(const LayerFlags& drafters, const LayerTable& added) {
  if (drafters.empty()) {
    return CallError("scalekv needs a plan", "it says which layers are drafters at which scale",
                     "make one with `nextscale calibrate`, and name it by --kv-plan");
  }
  if (drafters.size() != added.size() || drafters[0].size() != added[0].size()) {
    return CallError(
        fmt::format("the plan is for {} scales and {} layers", drafters.size(), drafters[0].size()),
        fmt::format("this request has {} scales, the model {} layers", added.size(), added[0].size()),
        "make a plan for it with `nextscale calibrate`");
  }
  return absl::OkStatus();
}

// budgets[k][l] shared among heads, [K][L][H]; a scale that is skipped repeats what is held.
std::vector<LayerTable> ShareAmongHeads(const LayerTable& budgets, const LayerTable& added, int64_t window,
                                        const std::vector<std::vector<std::vector<double>>>& asi) {
  std::vector<LayerTable> table;
  for (size_t k = 0; k < budgets.size(); ++k) {
    LayerTable row;
    for (size_t l = 0; l < budgets[k].size(); ++l) {
      std::vector<int64_t> exist(asi[k][l].size(), 0);
      for (size_t h = 0; k > 0 && h < exist.size(); ++h) exist[h] = table[k - 1][l][h] + added[k - 1][l];
      row.push_back(HeadBudgets(budgets[k][l], window, exist, asi[k][l]));
    }
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace

size_t KvSetup::NextRun(int64_t scale) const {
  size_t k = static_cast<size_t>(scale) + 1;
  while (k < added.size() && !Runs(added[k])) ++k;
  return std::min(k, added.size() - 1);
}

int64_t KvSetup::BudgetAfter(int64_t scale, int64_t layer) const {
  const int64_t budget = budgets[NextRun(scale)][layer];
  return budget == kNoLimit ? -1 : budget;
}

std::vector<bool> KvSetup::DraftersAfter(int64_t scale) const {
  return drafters.empty() ? std::vector<bool>() : drafters[NextRun(scale)];
}

int64_t KvSetup::BudgetAfter(int64_t scale, int64_t layer, int64_t head) const {
  return head_budgets.empty() ? BudgetAfter(scale, layer) : head_budgets[NextRun(scale)][layer][head];
}

LayerTable KvSetup::Held() const {
  LayerTable table;
  std::vector<int64_t> held(added[0].size(), 0);
  for (size_t k = 0; k < added.size(); ++k) {
    if (!std::any_of(added.begin() + k + 1, added.end(), Runs)) break;
    for (size_t l = 0; l < held.size(); ++l) {
      const int64_t budget = policy ? BudgetAfter(static_cast<int64_t>(k), static_cast<int64_t>(l)) : -1;
      held[l] += added[k][l];
      if (budget >= 0) held[l] = std::min(held[l], budget);
    }
    table.push_back(held);
  }
  return table;
}

int64_t KvSetup::Capacity() const {
  int64_t most = 0;
  for (const std::vector<int64_t>& row : Held())
    most = std::max(most, *std::max_element(row.begin(), row.end()));
  for (const LayerTable& layers : head_budgets) {
    for (const std::vector<int64_t>& heads : layers)
      most = std::max(most, *std::max_element(heads.begin(), heads.end()));
  }
  return most;
}

int64_t KvSetup::PeakTokens(std::span<const int64_t> streams_K) const {
  int64_t most = 0, before = 0;
  const LayerTable held = Held();
  for (size_t k = 0; k < held.size(); ++k) {
    const auto next = std::find_if(added.begin() + k + 1, added.end(), Runs) - added.begin();
    const int64_t now = std::accumulate(held[k].begin(), held[k].end(), int64_t{0});
    most = std::max(most, streams_K[next] * now + (streams_K[k] - streams_K[next]) * before);
    before = now;
  }
  return most;
}

int64_t TokensBeforeLastRun(const std::vector<MapSize>& maps, const LayerTable& added) {
  size_t last = 0;
  for (size_t k = 0; k < maps.size(); ++k) {
    if (Runs(added[k])) last = k;
  }
  int64_t tokens = 0;
  for (size_t k = 0; k < last; ++k) tokens += maps[k].tokens();
  return tokens;
}

StatusOr<KvSetup> MakeKvSetup(const KvOptions& o, const std::vector<MapSize>& maps, const LayerTable& added) {
  NS_CHECK(!maps.empty() && added.size() == maps.size());
  KvSetup setup;
  setup.added = added;
  if (o.policy == KvPolicyKind::kFull) return setup;

  if (!(o.budget_percent > 0 && o.budget_percent <= 100))
    return CallError(fmt::format("a budget of {}%", o.budget_percent), "expected more than 0, at most 100");
  if (o.budget_tokens && *o.budget_tokens < 1)
    return CallError(fmt::format("a budget of {} tokens", *o.budget_tokens), "expected 1 or more");
  const int64_t uniform =
      o.budget_tokens.value_or(UniformBudget(o.budget_percent, TokensBeforeLastRun(maps, added)));
  const bool grid = o.policy == KvPolicyKind::kScaleKv || o.policy == KvPolicyKind::kScaleKvReference;
  setup.window = o.window.value_or(WindowSize(uniform, grid));
  if (setup.window < 1 || (o.file_budgets.empty() && setup.window > uniform)) {
    return CallError(fmt::format("a window of {} tokens", setup.window),
                     fmt::format("expected 1 to the budget, {}", uniform));
  }

  const ScoredPolicyArgs scored{.window = setup.window,
                                .pooling = o.pooling.value_or(Pooling::kAverage),
                                .scale_ends = ScaleEnds(maps)};
  setup.budgets = o.file_budgets.empty() ? UniformBudgets(added, uniform) : o.file_budgets;
  switch (o.policy) {
    case KvPolicyKind::kFull:
      break;
    case KvPolicyKind::kSlidingWindow:
      setup.policy = MakeSlidingWindow();
      break;
    case KvPolicyKind::kStreamingLlm:
      setup.policy = MakeStreamingLlm(o.sinks);
      break;
    case KvPolicyKind::kSnapKv:
      setup.policy = MakeSnapKv(scored);
      break;
    case KvPolicyKind::kPyramidKv:
      setup.policy = MakeSnapKv(scored);
      setup.budgets = PyramidBudgets(added, uniform, setup.window, o.beta);
      break;
    case KvPolicyKind::kScaleKv:
      setup.policy = MakeScaleKv(scored);
      if (o.file_budgets.empty()) {
        NS_RETURN_IF_ERROR(CheckDrafters(o.drafters, added));
        setup.drafters = o.drafters;
        const double B = static_cast<double>(uniform);
        setup.budgets =
            ScaleKvBudgets(added, o.drafters,
                           {.uniform = uniform,
                            .refiner_start = o.refiner_start.value_or(std::lround(B * kRefinerShare)),
                            .decay = o.decay.value_or(std::lround(B * kDecayShare)),
                            .window = setup.window});
        if (!o.head_asi.empty() && !o.even_heads)
          setup.head_budgets = ShareAmongHeads(setup.budgets, added, setup.window, o.head_asi);
      }
      break;
    case KvPolicyKind::kScaleKvReference:
      setup.policy = MakeScaleKvReference(setup.window);
      setup.budgets = WithoutLimitUntil(std::move(setup.budgets), added, o.reference_start);
      break;
  }
  return setup;
}

}  // namespace nextscale
