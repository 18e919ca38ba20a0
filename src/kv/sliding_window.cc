#include "kv/sliding_window.h"

#include <numeric>

namespace nextscale {
namespace {

class SlidingWindow : public KvPolicy {
 public:
  std::vector<int32_t> Select(const HeadScores& head) const override {
    std::vector<int32_t> keep(head.budget);
    std::iota(keep.begin(), keep.end(), static_cast<int32_t>(head.tokens.size() - head.budget));
    return keep;
  }
};

}  // namespace

std::unique_ptr<KvPolicy> MakeSlidingWindow() { return std::make_unique<SlidingWindow>(); }

}  // namespace nextscale
