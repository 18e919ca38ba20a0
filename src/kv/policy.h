// A cache policy: which tokens of a (layer, stream, head) stay when a scale is done. Pure: sizes and scores
// in, indices out; only the cache moves data. One sibling file a policy, one factory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/map_size.h"

namespace nextscale {

// The keys of a (layer, stream) when a scale's attention is done: first what was cached, then the n tokens of
// the current map that were run.
struct ScaleKeys {
  int64_t scale = 0;
  MapSize map;
  int64_t cached = 0;  // of each head; S = cached + n
  int64_t n = 0;
  std::span<const int32_t> at;  // [n] their places in the map if a pruner left some out, else empty
};

// Tokens that stay whatever their score, and whose queries score the others.
struct ObservationWindow {
  std::vector<int32_t> places;   // in [0, S), ascending
  std::vector<int32_t> queries;  // whose query each is: a row in [0, n)
};

// What one head's selection is made from.
struct HeadScores {
  std::span<const int32_t>
      tokens;  // [S] number of each key's token, counted through all maps of the schedule; ascending
  std::span<const int32_t> window;  // ObservationWindow::places
  std::span<const float> scores;    // [S] window scores, or empty if the policy asks for none
  int64_t budget = 0;               // how many stay; window <= budget < S
};

enum class WindowScore {
  kNone,
  kAttention,  // softmax attention of the window's queries over all keys, summed over the window
  kRawLogits,  // the public ScaleKV code's: logits of raw queries (no norm, bias, scale or rotation) /
               // sqrt(D), summed; -inf at the window
};

class KvPolicy {
 public:
  virtual ~KvPolicy() = default;
  virtual WindowScore score() const { return WindowScore::kNone; }
  virtual ObservationWindow Window(const ScaleKeys& keys) const { return {}; }
  // The places in [0, S) that stay: `budget` of them, ascending and unique.
  virtual std::vector<int32_t> Select(const HeadScores& head) const = 0;
};

}  // namespace nextscale
