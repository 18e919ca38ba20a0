// The definition of the token scores (oracle/var_policies.py, PrunedLayer), sums in f64.
#include <vector>

#include "ops/token_deviation_internal.h"

namespace nextscale::token_deviation {

void Reference(ConstView x, int64_t rows_per_stream, std::span<float> scores) {
  const int64_t L = rows_per_stream, C = x.dim(1);
  for (int64_t first = 0; first < x.dim(0); first += L) {
    const float* rows = x.data<float>() + first * C;
    std::vector<double> mean(C, 0.0);
    for (int64_t i = 0; i < L * C; ++i) mean[i % C] += rows[i] / static_cast<double>(L);
    for (int64_t r = 0; r < L; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < C; ++c) sum += (rows[r * C + c] - mean[c]) * (rows[r * C + c] - mean[c]);
      scores[first + r] = static_cast<float>(sum);
    }
  }
}

}  // namespace nextscale::token_deviation
