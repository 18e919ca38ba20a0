// One transformer block (infinity.md, "One scale"): self-attention, cross-attention and feed-forward, each
// gated into the residual stream.
#pragma once

#include <span>

#include "base/status.h"
#include "kv/cache.h"
#include "kv/factory.h"
#include "model/activations.h"
#include "model/branch_rows.h"
#include "model/observer.h"
#include "model/weights.h"

namespace nextscale {

// What a block's forward pass is about: streams, map and rotary table of this scale.
struct ScaleStep {
  int64_t scale = 0;    // 0-based
  int64_t streams = 0;  // B
  // Of these the first have another scale after this one, for which their keys and values are cached; 0 at
  // the last scale that runs.
  int64_t stored_streams = 0;
  MapSize map;
  const RopeTable* rope = nullptr;
  std::span<const std::vector<int32_t>>
      tokens_B;    // [streams]: numbers of this scale's tokens, counted through all maps
  MapSize source;  // map of the scale that the pruner restores from; empty without one
  int64_t tokens() const { return map.tokens(); }
  int64_t rows() const { return streams * tokens(); }
};

struct BlockContext {
  const TransformerConfig& config;
  const BlockWeights& weights;
  int64_t layer = 0;
  const float* shared_ada_B6C = nullptr;  // shared_ada_lin of every stream's cond
  std::span<const HeadKv> text_BH;        // text keys and values of every (stream, head)
  KvCache& cache;
  const KvSetup& kv;
  const Pruner& pruner;
  PruneStore& prune_store;
  double& selection_seconds;  // grows by what the cache's trim takes
  Activations& act;
  const OpContext& ops;
  TensorObserver* observer = nullptr;
};

// x (in act) += the three branches, of the rows that the pruner lets run. Errors: WorkError naming the branch
// of this block whose input shows a NaN or an infinity.
Status RunBlock(const BlockContext& block, const ScaleStep& step);

}  // namespace nextscale
