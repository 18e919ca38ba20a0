#include "kv/scalekv.h"

#include <algorithm>

namespace nextscale {
namespace {

std::vector<int64_t> Centres(int64_t n, int64_t grid) {
  const int64_t patches = std::min(grid, n);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < patches; ++i) out.push_back((i * n / patches + (i + 1) * n / patches - 1) / 2);
  return out;
}

// After pruning: each centre takes the nearest kept token that isn't taken yet (squared distance in rows and
// columns, lower index on ties).
std::vector<int32_t> NearestKept(const std::vector<int32_t>& centres, const ScaleKeys& keys) {
  std::vector<bool> taken(keys.n, false);
  std::vector<int32_t> rows;
  for (int32_t centre : centres) {
    int64_t best = -1, best_distance = 0;
    for (int64_t i = 0; i < keys.n; ++i) {
      if (taken[i]) continue;
      const int64_t dy = keys.at[i] / keys.map.w - centre / keys.map.w,
                    dx = keys.at[i] % keys.map.w - centre % keys.map.w;
      if (best < 0 || dy * dy + dx * dx < best_distance) {
        best = i;
        best_distance = dy * dy + dx * dx;
      }
    }
    if (best < 0) break;  // fewer tokens than centres
    taken[best] = true;
    rows.push_back(static_cast<int32_t>(best));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

class ScaleKv : public ScoredPolicy {
 public:
  using ScoredPolicy::ScoredPolicy;

  ObservationWindow Window(const ScaleKeys& keys) const override {
    const std::vector<int32_t> centres = PatchCentres(keys.map, SquareSide(args_.window));
    return WindowOfRows(keys.at.empty() ? centres : NearestKept(centres, keys), keys.cached);
  }
};

}  // namespace

std::vector<int32_t> PatchCentres(MapSize map, int64_t grid) {
  std::vector<int32_t> out;
  for (int64_t y : Centres(map.h, grid)) {
    for (int64_t x : Centres(map.w, grid)) out.push_back(static_cast<int32_t>(y * map.w + x));
  }
  return out;
}

int64_t SquareSide(int64_t n) {
  int64_t side = 1;
  while ((side + 1) * (side + 1) <= n) ++side;
  return side;
}

std::unique_ptr<KvPolicy> MakeScaleKv(const ScoredPolicyArgs& args) {
  return std::make_unique<ScaleKv>(args);
}

}  // namespace nextscale
