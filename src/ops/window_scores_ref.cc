#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/window_scores_internal.h"

namespace nextscale {

void WindowScoresRef(const WindowScoresArgs& args, std::span<float> scores) {
  std::vector<double> total(scores.size(), 0.0), logits(scores.size());
  std::vector<float> q(args.D), k(args.D);
  for (int32_t row : args.rows) {
    ConvertFloats(QueryRow(args, row), args.q.dtype(), q.data(), DType::kF32, args.D);
    for (size_t j = 0; j < scores.size(); ++j) {
      ConvertFloats(KeyRow(args, static_cast<int64_t>(j)), args.q.dtype(), k.data(), DType::kF32, args.D);
      double dot = 0;
      for (int64_t d = 0; d < args.D; ++d) dot += static_cast<double>(q[d]) * k[d];
      logits[j] = dot * args.scale;
    }
    double sum = 1;
    if (args.softmax) {
      const double most = *std::max_element(logits.begin(), logits.end());
      sum = 0;
      for (double& l : logits) sum += l = std::exp(l - most);
    }
    for (size_t j = 0; j < scores.size(); ++j) total[j] += logits[j] / sum;
  }
  std::copy(total.begin(), total.end(), scores.begin());
}

}  // namespace nextscale
