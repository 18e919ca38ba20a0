#include "kv/scalekv_reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kv/scalekv.h"
#include "kv/scored_policy.h"

namespace nextscale {
namespace {

constexpr std::array<int64_t, 13> kSquareMaps = {1,   4,   16,   36,   64,   144, 256,
                                                 400, 576, 1024, 1600, 2304, 4096};

class ScaleKvReference : public KvPolicy {
 public:
  explicit ScaleKvReference(int64_t window) : window_(window) {}

  WindowScore score() const override { return WindowScore::kRawLogits; }

  ObservationWindow Window(const ScaleKeys& keys) const override {
    const int64_t S = keys.cached + keys.n,
                  size = kSquareMaps[std::min<int64_t>(keys.scale, kSquareMaps.size() - 1)];
    const int64_t begin = std::max<int64_t>(0, S - size), side = SquareSide(S - begin),
                  grid = SquareSide(window_);
    ObservationWindow window;
    if (side * side == S - begin && side >= grid) {
      const int64_t covered = side / grid * grid;
      for (int32_t p : PatchCentres({covered, covered}, grid)) {
        window.places.push_back(static_cast<int32_t>(begin + p / covered * side + p % covered));
      }
    } else {
      window.places.resize(std::min(window_, S));
      std::iota(window.places.begin(), window.places.end(),
                static_cast<int32_t>(S - static_cast<int64_t>(window.places.size())));
    }
    // Places outside the real map take the query of its first token.
    for (int32_t p : window.places)
      window.queries.push_back(static_cast<int32_t>(std::clamp<int64_t>(p - keys.cached, 0, keys.n - 1)));
    return window;
  }

  std::vector<int32_t> Select(const HeadScores& head) const override {
    const int64_t S = static_cast<int64_t>(head.scores.size());
    std::vector<float> masked(head.scores.begin(), head.scores.end()), pooled(S);
    for (int32_t p : head.window) masked[p] = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < S; ++i) {
      const int64_t begin = std::max<int64_t>(0, i - kPoolWidth / 2),
                    end = std::min(S, i + kPoolWidth / 2 + 1);
      pooled[i] = *std::max_element(masked.begin() + begin, masked.begin() + end);
    }
    return WindowAndBest(pooled, head.window, head.budget - static_cast<int64_t>(head.window.size()));
  }

 private:
  int64_t window_;
};

}  // namespace

std::unique_ptr<KvPolicy> MakeScaleKvReference(int64_t window) {
  return std::make_unique<ScaleKvReference>(window);
}

}  // namespace nextscale
