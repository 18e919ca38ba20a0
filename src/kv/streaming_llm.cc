#include "kv/streaming_llm.h"

#include <algorithm>
#include <numeric>

namespace nextscale {
namespace {

class StreamingLlm : public KvPolicy {
 public:
  explicit StreamingLlm(int64_t sinks) : sinks_(sinks) {}

  std::vector<int32_t> Select(const HeadScores& head) const override {
    const int64_t sinks = std::min(sinks_, head.budget);
    std::vector<int32_t> keep(head.budget);
    std::iota(keep.begin(), keep.begin() + sinks, 0);
    std::iota(keep.begin() + sinks, keep.end(),
              static_cast<int32_t>(head.tokens.size() - (head.budget - sinks)));
    return keep;
  }

 private:
  int64_t sinks_;
};

}  // namespace

std::unique_ptr<KvPolicy> MakeStreamingLlm(int64_t sinks) { return std::make_unique<StreamingLlm>(sinks); }

}  // namespace nextscale
