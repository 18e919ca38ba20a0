#include "ops/attention_stats.h"

#include "ops/attention_stats_internal.h"

namespace nextscale {

std::vector<SelectivityFactors> AttentionStats(const AttentionArgs& a, std::span<const int32_t> queries,
                                               int64_t top, const OpContext& ctx) {
  NS_CHECK(a.q.shape() == Shape({a.B * a.L, a.H * a.D}), "q is {}", ToString(a.q.shape()));
  NS_CHECK(a.bias_HLS == nullptr && top > 0, "top {}", top);
  NS_CHECK_EQ(static_cast<int64_t>(a.current_BH.size()), a.B * a.H);
  NS_CHECK(a.cached_BH.empty() || a.cached_BH.size() == a.current_BH.size(), "{} cached heads",
           a.cached_BH.size());
  NS_CHECK(!queries.empty(), "no queries");
  for (int32_t row : queries) NS_CHECK(row >= 0 && row < a.L, "query {} of {}", row, a.L);

  ProfileScope profile(ctx.profiler, "attention_stats");
  const int64_t count = static_cast<int64_t>(queries.size()),
                blocks = (count + kStatsQueries - 1) / kStatsQueries;
  std::vector<SelectivityFactors> sums(a.B * a.H * blocks);  // of a block of queries each
  ParallelFor(a.B * a.H * blocks, [&](int64_t i, int thread) {
    const int64_t bh = i / blocks, first = i % blocks * kStatsQueries;
    const HeadStatsArgs args{.q = a.q.Rows(bh / a.H * a.L, a.L),
                             .queries = queries.subspan(first, std::min(kStatsQueries, count - first)),
                             .head = bh % a.H,
                             .D = a.D,
                             .cached = a.cached_BH.empty() ? HeadKv{} : a.cached_BH[bh],
                             .current = a.current_BH[bh],
                             .scale = a.scale,
                             .top = top};
    NS_CHECK(args.current.length > 0, "head {} has no current keys", bh);
    if (ctx.backend == Backend::kReference) {
      sums[i] = HeadStatsRef(args);
    } else {
      const int64_t S = args.cached.length + args.current.length;
      sums[i] = HeadStatsCpu(args, ctx.scratch.ForThread(thread, AttentionStatsScratchBytes(S, a.D)));
    }
  });

  std::vector<SelectivityFactors> means(a.B * a.H);
  for (int64_t i = 0; i < a.B * a.H * blocks; ++i) {
    means[i / blocks].current += sums[i].current / static_cast<double>(count);
    means[i / blocks].top += sums[i].top / static_cast<double>(count);
  }
  return means;
}

}  // namespace nextscale
