#include "calibration/attention_map.h"

#include <algorithm>
#include <numeric>

#include "ops/window_scores.h"

namespace nextscale {

AttentionMaps::AttentionMaps(const std::vector<MapSize>& schedule, std::vector<LayerHead> heads,
                             const OpContext& ops)
    : heads_(std::move(heads)), ops_(ops) {
  for (MapSize map : schedule) {
    first_.push_back(tokens_);
    tokens_ += map.tokens();
  }
  side_ = std::min(tokens_, kMostCells);
  cells_.assign(heads_.size(), std::vector<float>(side_ * side_, 0.0f));
}

void AttentionMaps::SeeSelfAttention(int64_t scale, int64_t layer, const AttentionArgs& attention) {
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (heads_[i].layer == layer) AddHead(scale, attention, heads_[i].head, cells_[i]);
  }
}

void AttentionMaps::AddHead(int64_t scale, const AttentionArgs& a, int64_t head,
                            std::vector<float>& cells) const {
  const HeadKv cached = a.cached_BH.empty() ? HeadKv{} : a.cached_BH[head], current = a.current_BH[head];
  const int64_t keys = cached.length + current.length, first = first_[scale];
  NS_CHECK_EQ(keys, first + a.L);
  std::vector<float> scores(keys), keys_in_cell(side_, 0.0f);
  for (int64_t token = 0; token < keys; ++token) keys_in_cell[CellOf(token)] += 1;
  for (int64_t begin = 0; begin < a.L;) {  // the queries of a row of cells at a time
    const int64_t row = CellOf(first + begin);
    int64_t end = begin + 1;
    while (end < a.L && CellOf(first + end) == row) ++end;
    std::vector<int32_t> queries(end - begin);
    std::iota(queries.begin(), queries.end(), static_cast<int32_t>(begin));
    WindowScores(
        {.q = a.q.Rows(0, a.L),
         .rows = queries,
         .head = head,
         .D = a.D,
         .cached = cached,
         .current = current,
         .scale = a.scale},
        ops_.backend, scores,
        ops_.scratch.ForThread(0, WindowScoresScratchBytes(static_cast<int64_t>(queries.size()), keys, a.D)));
    float* out = &cells[row * side_];
    for (int64_t token = 0; token < keys; ++token) {
      const int64_t column = CellOf(token);
      out[column] += scores[token] / (keys_in_cell[column] * static_cast<float>(queries.size()));
    }
    begin = end;
  }
}

}  // namespace nextscale
