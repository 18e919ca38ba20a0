#include "kv/snapkv.h"

#include <algorithm>
#include <numeric>

namespace nextscale {
namespace {

class SnapKv : public ScoredPolicy {
 public:
  using ScoredPolicy::ScoredPolicy;

  ObservationWindow Window(const ScaleKeys& keys) const override {
    std::vector<int32_t> rows(std::min(args_.window, keys.n));
    std::iota(rows.begin(), rows.end(), static_cast<int32_t>(keys.n - static_cast<int64_t>(rows.size())));
    return WindowOfRows(std::move(rows), keys.cached);
  }
};

}  // namespace

std::unique_ptr<KvPolicy> MakeSnapKv(const ScoredPolicyArgs& args) { return std::make_unique<SnapKv>(args); }

}  // namespace nextscale
