#include "kv/scored_policy.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace nextscale {
namespace {

std::vector<bool> Flags(std::span<const int32_t> places, size_t n) {
  std::vector<bool> flags(n, false);
  for (int32_t p : places) flags[p] = true;
  return flags;
}

// [begin, end) places of each scale's tokens, which ascend.
struct Run {
  int64_t begin, end;
};
std::vector<Run> ScaleRuns(std::span<const int32_t> tokens, std::span<const int64_t> scale_ends) {
  std::vector<Run> runs;
  int64_t begin = 0;
  for (int64_t end_token : scale_ends) {
    const int64_t end = std::lower_bound(tokens.begin() + begin, tokens.end(), end_token) - tokens.begin();
    if (end > begin) runs.push_back({begin, end});
    begin = end;
  }
  NS_CHECK_EQ(begin, static_cast<int64_t>(tokens.size()));
  return runs;
}

}  // namespace

ObservationWindow WindowOfRows(std::vector<int32_t> rows, int64_t cached) {
  ObservationWindow window;
  for (int32_t row : rows) window.places.push_back(static_cast<int32_t>(cached) + row);
  window.queries = std::move(rows);
  return window;
}

std::vector<int32_t> ScoredPolicy::Select(const HeadScores& head) const {
  return WindowAndBest(PoolScores(head, args_.scale_ends, args_.pooling), head.window,
                       head.budget - static_cast<int64_t>(head.window.size()));
}

std::vector<float> PoolScores(const HeadScores& head, std::span<const int64_t> scale_ends, Pooling pooling) {
  const std::span<const float> scores = head.scores;
  if (pooling == Pooling::kNone) return {scores.begin(), scores.end()};
  const std::vector<bool> in_window = Flags(head.window, scores.size());
  std::vector<float> pooled(scores.size(), 0.0f);
  for (const Run& run : ScaleRuns(head.tokens, scale_ends)) {
    for (int64_t i = run.begin; i < run.end; ++i) {
      float total = 0, most = -std::numeric_limits<float>::infinity();
      int64_t number = 0;
      for (int64_t j = std::max(run.begin, i - kPoolWidth / 2); j < std::min(run.end, i + kPoolWidth / 2 + 1);
           ++j) {
        if (in_window[j]) continue;
        total += scores[j];
        most = std::max(most, scores[j]);
        ++number;
      }
      if (number > 0) pooled[i] = pooling == Pooling::kMax ? most : total / static_cast<float>(number);
    }
  }
  return pooled;
}

std::vector<int32_t> WindowAndBest(std::span<const float> scores, std::span<const int32_t> window,
                                   int64_t room) {
  const std::vector<bool> in_window = Flags(window, scores.size());
  std::vector<int32_t> keep;
  keep.reserve(scores.size());
  for (int32_t i = 0; i < static_cast<int32_t>(scores.size()); ++i) {
    if (!in_window[i]) keep.push_back(i);
  }
  NS_CHECK(room >= 0 && room <= static_cast<int64_t>(keep.size()), "room for {} of {}", room, keep.size());
  const auto better = [&](int32_t a, int32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  };
  std::nth_element(keep.begin(), keep.begin() + room, keep.end(), better);
  keep.resize(room);
  keep.insert(keep.end(), window.begin(), window.end());
  std::sort(keep.begin(), keep.end());
  return keep;
}

}  // namespace nextscale
