#include "calibration/attention_statistics.h"

#include <numeric>

#include "ops/attention_stats.h"

namespace nextscale {

AttentionStatistics::AttentionStatistics(int64_t scales, int64_t layers, const StatisticsOptions& options,
                                         const OpContext& ops)
    : options_(options), ops_(ops) {
  tables_.current.assign(scales, std::vector<double>(layers, 0.0));
  tables_.top = tables_.current;
  if (!options.heads) return;
  heads_.current.assign(scales, ScaleTable(layers));
  heads_.top = heads_.current;
}

void AttentionStatistics::SeeSelfAttention(int64_t scale, int64_t layer, const AttentionArgs& attention) {
  const std::vector<SelectivityFactors> factors_BH =
      AttentionStats(attention, EvenlySpaced(options_.sample, attention.L), options_.top, ops_);
  const double streams = static_cast<double>(attention.B), heads = static_cast<double>(attention.H);
  for (const SelectivityFactors& f : factors_BH) {
    tables_.current[scale][layer] += f.current / (streams * heads);
    tables_.top[scale][layer] += f.top / (streams * heads);
  }
  if (!options_.heads) return;
  std::vector<double>&current = heads_.current[scale][layer], &top = heads_.top[scale][layer];
  current.assign(attention.H, 0.0);
  top.assign(attention.H, 0.0);
  for (size_t i = 0; i < factors_BH.size(); ++i) {
    current[i % attention.H] += factors_BH[i].current / streams;
    top[i % attention.H] += factors_BH[i].top / streams;
  }
}

std::vector<int32_t> EvenlySpaced(int64_t count, int64_t n) {
  if (count == 0 || count > n) count = n;
  std::vector<int32_t> places(count);
  for (int64_t i = 0; i < count; ++i) places[i] = static_cast<int32_t>(i * n / count);
  return places;
}

}  // namespace nextscale
