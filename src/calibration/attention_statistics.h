// Watches a picture being made with the full cache and notes, for each layer and scale, the two factors of
// the Attention Selectivity Index (scalekv.md, "Attention Selectivity Index").
#pragma once

#include <vector>

#include "calibration/roles.h"
#include "engine/engine.h"

namespace nextscale {

struct StatisticsOptions {
  int64_t top = 64;    // K'
  int64_t sample = 0;  // at most so many queries of a map, evenly spaced; 0: all
  bool heads = false;  // also by head
};

// [K][L][H]: means over queries and streams, of each head alone.
struct HeadTables {
  std::vector<ScaleTable> current, top;
};

// Of one picture. Memory beyond generation's: a few rows of attention a thread.
class AttentionStatistics : public EngineObserver {
 public:
  AttentionStatistics(int64_t scales, int64_t layers, const StatisticsOptions& options, const OpContext& ops);

  bool wants_tensors() const override { return true; }
  void SeeSelfAttention(int64_t scale, int64_t layer, const AttentionArgs& attention) override;

  const AttentionTables& tables() const { return tables_; }
  const HeadTables& heads() const { return heads_; }  // empty unless asked for

 private:
  const StatisticsOptions options_;
  const OpContext& ops_;
  AttentionTables tables_;
  HeadTables heads_;
};

// `count` of [0, n), evenly spaced, ascending; all of them if count is 0 or at least n.
std::vector<int32_t> EvenlySpaced(int64_t count, int64_t n);

}  // namespace nextscale
