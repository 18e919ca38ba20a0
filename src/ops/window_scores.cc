#include "ops/window_scores.h"

#include "ops/window_scores_internal.h"

namespace nextscale {

void WindowScores(const WindowScoresArgs& args, Backend backend, std::span<float> scores,
                  std::byte* scratch) {
  NS_CHECK(args.q.shape().rank() == 2 && (args.head + 1) * args.D <= args.q.dim(1),
           "head {} of width {} in {}", args.head, args.D, ToString(args.q.shape()));
  NS_CHECK_EQ(static_cast<int64_t>(scores.size()), args.cached.length + args.current.length);
  for (int32_t row : args.rows)
    NS_CHECK(row >= 0 && row < args.q.dim(0), "query {} of {}", row, args.q.dim(0));
  if (backend == Backend::kReference) {
    WindowScoresRef(args, scores);
  } else {
    WindowScoresCpu(args, scores, scratch);
  }
}

size_t WindowScoresScratchBytes(int64_t rows, int64_t keys, int64_t D) {
  return static_cast<size_t>(PaddedQueries(rows) * (D + keys + 2) + D) * sizeof(float) + 64;
}

}  // namespace nextscale
