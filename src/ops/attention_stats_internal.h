// The two implementations behind attention_stats.h: some queries of one head.
#pragma once

#include "ops/attention_stats.h"

namespace nextscale {

// Queries of one call, side by side.
inline constexpr int64_t kStatsQueries = 16;

struct HeadStatsArgs {
  ConstView q;                       // [L, H*D] of one stream
  std::span<const int32_t> queries;  // rows of q, at most kStatsQueries
  int64_t head = 0, D = 0;
  HeadKv cached, current;
  float scale = 1;
  int64_t top = 0;
};

// Sums over the queries (not means).
SelectivityFactors HeadStatsRef(const HeadStatsArgs& args);
SelectivityFactors HeadStatsCpu(const HeadStatsArgs& args, std::byte* scratch);

inline int64_t ElementBytes(const HeadStatsArgs& args) {
  return static_cast<int64_t>(SizeOf(args.q.dtype()));
}
// Key j of the two parts, one after the other.
inline const std::byte* StatsKey(const HeadStatsArgs& args, int64_t j) {
  const bool cached = j < args.cached.length;
  const void* keys = cached ? args.cached.k : args.current.k;
  return static_cast<const std::byte*>(keys) +
         (cached ? j : j - args.cached.length) * args.D * ElementBytes(args);
}
inline const std::byte* StatsQuery(const HeadStatsArgs& args, int64_t i) {
  return args.q.raw() + (args.queries[i] * args.q.dim(1) + args.head * args.D) * ElementBytes(args);
}

}  // namespace nextscale
