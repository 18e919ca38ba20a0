// Attention matrices of chosen heads as small pictures, for figures (the paper's Fig. 3, 9 and 10).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine.h"

namespace nextscale {

struct LayerHead {
  int64_t layer = 0, head = 0;
  auto operator<=>(const LayerHead&) const = default;
};

// Watches a picture being made with the full cache. Rows are queries and columns keys, both counted through
// all maps: token t of T falls into cell floor(t * side / T). A cell holds the mean attention of its queries
// to one of its keys, of the first (conditional) stream.
class AttentionMaps : public EngineObserver {
 public:
  static constexpr int64_t kMostCells = 768;

  AttentionMaps(const std::vector<MapSize>& schedule, std::vector<LayerHead> heads, const OpContext& ops);

  bool wants_tensors() const override { return true; }
  void SeeSelfAttention(int64_t scale, int64_t layer, const AttentionArgs& attention) override;

  int64_t side() const { return side_; }
  const std::vector<LayerHead>& heads() const { return heads_; }
  // [side, side] of heads()[i]; 0 where a query has no such key.
  const std::vector<float>& cells(size_t i) const { return cells_[i]; }

 private:
  int64_t CellOf(int64_t token) const { return token * side_ / tokens_; }
  void AddHead(int64_t scale, const AttentionArgs& attention, int64_t head, std::vector<float>& cells) const;

  std::vector<int64_t> first_;  // token of each scale
  int64_t tokens_ = 0, side_ = 0;
  std::vector<LayerHead> heads_;
  const OpContext& ops_;
  std::vector<std::vector<float>> cells_;
};

}  // namespace nextscale
