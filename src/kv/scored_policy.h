// What the policies that rank tokens by the attention of an observation window share (scalekv.md, "Token
// selection", steps 2 to 4; equation 5).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/policy.h"

namespace nextscale {

enum class Pooling { kAverage, kMax, kNone };
inline constexpr int64_t kPoolWidth = 5;

struct ScoredPolicyArgs {
  int64_t window = 16;
  Pooling pooling = Pooling::kAverage;
  std::vector<int64_t> scale_ends;  // tokens up to the end of each scale of the schedule
};

// The window and the best others by pooled score. Siblings say what the window is.
class ScoredPolicy : public KvPolicy {
 public:
  explicit ScoredPolicy(const ScoredPolicyArgs& args) : args_(args) {}
  WindowScore score() const override { return WindowScore::kAttention; }
  std::vector<int32_t> Select(const HeadScores& head) const override;

 protected:
  ScoredPolicyArgs args_;
};

// The window at these rows of the current map.
ObservationWindow WindowOfRows(std::vector<int32_t> rows, int64_t cached);

// Scores pooled along the key order over the places i-2..i+2, counting only keys of the same scale that
// aren't in the window.
std::vector<float> PoolScores(const HeadScores& head, std::span<const int64_t> scale_ends, Pooling pooling);

// The window and the `room` best other places by score; equal scores: the lower place. Ascending.
std::vector<int32_t> WindowAndBest(std::span<const float> scores, std::span<const int32_t> window,
                                   int64_t room);

}  // namespace nextscale
