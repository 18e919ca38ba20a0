// From options and a schedule to a policy and its budgets.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/kv_options.h"
#include "kv/policy.h"
#include "ops/map_size.h"

namespace nextscale {

struct KvSetup {
  std::unique_ptr<KvPolicy> policy;  // null: full
  LayerTable budgets;                // [K][L]: what layer l may hold when scale k begins
  LayerTable added;                  // [K][L]: what it adds at scale k
  int64_t window = 0;
  LayerFlags drafters;  // [K][L] roles when scale k begins; empty for policies without

  std::vector<LayerTable> head_budgets;  // [K][L][H], or empty: each head may hold what its layer may

  // What layer l may hold after scale k: the budget of the next scale that runs. -1: no limit.
  int64_t BudgetAfter(int64_t scale, int64_t layer) const;
  // The same of one of its heads.
  int64_t BudgetAfter(int64_t scale, int64_t layer, int64_t head) const;
  // The roles of the next scale that runs; empty without.
  std::vector<bool> DraftersAfter(int64_t scale) const;
  // Most tokens a layer ever holds between scales.
  int64_t Capacity() const;
  // Most tokens that all layers and streams together hold between scales, per head. streams_K: how many run
  // at each scale; those that stop keep what they have through their last one.
  int64_t PeakTokens(std::span<const int64_t> streams_K) const;
  // [K][L] held after each scale; nothing is stored at the last one that runs.
  LayerTable Held() const;

 private:
  size_t NextRun(int64_t scale) const;  // the last scale after the last that runs
};

// maps: the schedule. added[k][l]: tokens that layer l adds at scale k, 0 where it is skipped. Errors:
// CallError for a budget or window out of range, drafters of another shape.
StatusOr<KvSetup> MakeKvSetup(const KvOptions& options, const std::vector<MapSize>& maps,
                              const LayerTable& added);

// The table before the last scale that runs, in tokens of the whole maps: what "the full cache" means.
int64_t TokensBeforeLastRun(const std::vector<MapSize>& maps, const LayerTable& added);

}  // namespace nextscale
