// What happens to a layer's cache when a scale's attention is done: scores, the policy's selection, and the
// cache's move.
#pragma once

#include "kv/cache.h"
#include "kv/factory.h"
#include "kv/policy.h"
#include "ops/context.h"

namespace nextscale {

struct StoreScaleArgs {
  int64_t layer = 0, scale = 0;
  MapSize map;
  CurrentKeys current;
  std::span<const std::vector<int32_t>>
      at_B;         // [streams]: places in the map of the tokens that were run; empty: all were
  ConstView q;      // [B*n, H*D] queries as attention used them; may have more streams than `current`
  ConstView raw_q;  // WindowScore::kRawLogits: [B*w, H*D], the window's raw queries in its order; else empty
};

// Stores the current map's keys and values and trims to the budget of the next scale that runs. -> seconds of
// scoring, choosing and moving; 0 if all tokens stay.
double StoreScale(const StoreScaleArgs& args, const KvSetup& setup, KvCache& cache, const OpContext& ops);

// The observation window of a stream, with places in its `head`'s keys, as StoreScale will use it; empty if
// nothing will be selected in the layer. Its queries are the same for all heads.
ObservationWindow WindowOf(const StoreScaleArgs& args, int64_t stream, int64_t head, const KvSetup& setup,
                           const KvCache& cache);

}  // namespace nextscale
