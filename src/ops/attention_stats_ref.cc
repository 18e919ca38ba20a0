#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "ops/attention_stats_internal.h"

namespace nextscale {

SelectivityFactors HeadStatsRef(const HeadStatsArgs& args) {
  const int64_t P = args.cached.length, S = P + args.current.length;
  std::vector<float> q(args.D), k(args.D);
  std::vector<double> a(S);
  SelectivityFactors sums;
  for (size_t i = 0; i < args.queries.size(); ++i) {
    ConvertFloats(StatsQuery(args, static_cast<int64_t>(i)), args.q.dtype(), q.data(), DType::kF32, args.D);
    for (int64_t j = 0; j < S; ++j) {
      ConvertFloats(StatsKey(args, j), args.q.dtype(), k.data(), DType::kF32, args.D);
      a[j] = args.scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    }
    const double most = *std::max_element(a.begin(), a.end());
    for (double& x : a) x = std::exp(x - most);
    const double total = std::accumulate(a.begin(), a.end(), 0.0);
    sums.current += std::accumulate(a.begin() + P, a.end(), 0.0) / total;
    std::sort(a.begin(), a.begin() + P, std::greater<>());
    sums.top += std::accumulate(a.begin(), a.begin() + std::min(args.top, P), 0.0) / total;
  }
  return sums;
}

}  // namespace nextscale
