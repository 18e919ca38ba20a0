// Sixteen queries lie across the lanes, so that softmax and sums over keys are vertical and each key is read
// once. The K' largest of a query: the K'-th largest of the maxima of 256 groups of keys is a bound that at
// least K' keys reach, and few others do; only those are partitioned.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention_stats_cpu.cc"
#include "hwy/foreach_target.h"
//
#include <algorithm>
#include <functional>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/attention_stats_internal.h"

#ifndef NEXTSCALE_ATTENTION_STATS_LAYOUT
#define NEXTSCALE_ATTENTION_STATS_LAYOUT
namespace nextscale {

inline constexpr int64_t kStatsGroups = 256;  // of keys
inline constexpr int64_t kStatsKeys = 4;      // that share a load of the queries

struct StatsScratch {
  float* q_DW;        // queries, transposed
  float* a_SW;        // logits, then exponentials
  float* groups_GW;   // largest exponential of each group of history keys
  float* keys_KD;     // keys in f32
  float* one_W;       // a value a query
  float* candidates;  // [S]
};

inline int64_t StatsScratchFloats(int64_t S, int64_t D) {
  return kStatsQueries * (D + S + kStatsGroups + 1) + kStatsKeys * D + S;
}
inline StatsScratch LayOutStatsScratch(std::byte* bytes, int64_t S, int64_t D) {
  StatsScratch s;
  s.q_DW = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(bytes) + 63) & ~uintptr_t{63});
  s.a_SW = s.q_DW + D * kStatsQueries;
  s.groups_GW = s.a_SW + S * kStatsQueries;
  s.one_W = s.groups_GW + kStatsGroups * kStatsQueries;
  s.keys_KD = s.one_W + kStatsQueries;
  s.candidates = s.keys_KD + kStatsKeys * D;
  return s;
}

}  // namespace nextscale
#endif

HWY_BEFORE_NAMESPACE();
namespace nextscale::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kStatsQueries>;
constexpr int64_t W = kStatsQueries;

// -> the larger of `most` and the logits.
HWY_INLINE hn::Vec<D> StoreLogits(hn::Vec<D> logits, float* to, hn::Vec<D> most) {
  hn::Store(logits, D(), to);
  return hn::Max(most, logits);
}

// a_SW = logits; one_W = the largest of each query.
void StatsLogits(const HeadStatsArgs& args, int64_t S, const StatsScratch& s) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  std::fill_n(s.q_DW, args.D * W, 0.0f);
  for (size_t i = 0; i < args.queries.size(); ++i) {
    ConvertFloats(StatsQuery(args, static_cast<int64_t>(i)), args.q.dtype(), s.keys_KD, DType::kF32, args.D);
    for (int64_t c = 0; c < args.D; ++c) s.q_DW[c * W + i] = s.keys_KD[c] * args.scale;
  }
  std::fill_n(s.one_W, W, -std::numeric_limits<float>::infinity());
  for (int64_t j = 0; j < S; j += kStatsKeys) {
    const int64_t n = std::min(kStatsKeys, S - j);
    std::fill_n(s.keys_KD, kStatsKeys * args.D, 0.0f);
    for (int64_t i = 0; i < n; ++i)
      ConvertFloats(StatsKey(args, j + i), args.q.dtype(), s.keys_KD + i * args.D, DType::kF32, args.D);
    for (int64_t w = 0; w < W; w += lanes) {
      auto a0 = hn::Zero(d), a1 = hn::Zero(d), a2 = hn::Zero(d), a3 = hn::Zero(d);
      for (int64_t c = 0; c < args.D; ++c) {
        const auto q = hn::Load(d, s.q_DW + c * W + w);
        a0 = hn::MulAdd(hn::Set(d, s.keys_KD[c]), q, a0);
        a1 = hn::MulAdd(hn::Set(d, s.keys_KD[args.D + c]), q, a1);
        a2 = hn::MulAdd(hn::Set(d, s.keys_KD[2 * args.D + c]), q, a2);
        a3 = hn::MulAdd(hn::Set(d, s.keys_KD[3 * args.D + c]), q, a3);
      }
      auto most = hn::Load(d, s.one_W + w);
      float* row = s.a_SW + j * W + w;
      most = StoreLogits(a0, row, most);
      if (n > 1) most = StoreLogits(a1, row + W, most);
      if (n > 2) most = StoreLogits(a2, row + 2 * W, most);
      if (n > 3) most = StoreLogits(a3, row + 3 * W, most);
      hn::Store(most, d, s.one_W + w);
    }
  }
}

// Keys [begin, end) of a_SW to exponentials; adds them to sum_W, and takes them into the groups' maxima.
void StatsExponentials(int64_t begin, int64_t end, const StatsScratch& s, bool grouped, double* sum_W) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kRun = 256;  // keys summed in f32 before the sum goes on in double
  for (int64_t run = begin; run < end; run += kRun) {
    for (int64_t w = 0; w < W; w += lanes) {
      const auto most = hn::Load(d, s.one_W + w);
      auto sum = hn::Zero(d);
      for (int64_t j = run; j < std::min(end, run + kRun); ++j) {
        const auto e = hn::Exp(d, hn::Sub(hn::Load(d, s.a_SW + j * W + w), most));
        hn::Store(e, d, s.a_SW + j * W + w);
        sum = hn::Add(sum, e);
        float* group = s.groups_GW + j % kStatsGroups * W + w;
        if (grouped) hn::Store(hn::Max(hn::Load(d, group), e), d, group);
      }
      HWY_ALIGN float sums[W];
      hn::Store(sum, d, sums);
      for (int64_t i = 0; i < lanes; ++i) sum_W[w + i] += sums[i];
    }
  }
}

// Sum of the `top` largest of history keys [0, P) of query i, all of whose groups are filled.
double StatsTop(int64_t i, int64_t P, int64_t top, const StatsScratch& s) {
  float bound = 0;
  if (top <= kStatsGroups) {
    for (int64_t g = 0; g < kStatsGroups; ++g) s.candidates[g] = s.groups_GW[g * W + i];
    std::nth_element(s.candidates, s.candidates + top - 1, s.candidates + kStatsGroups, std::greater<>());
    bound = s.candidates[top - 1];
  }
  int64_t n = 0;
  for (int64_t j = 0; j < P; ++j) {
    s.candidates[n] = s.a_SW[j * W + i];
    n += s.candidates[n] >= bound;
  }
  std::nth_element(s.candidates, s.candidates + top - 1, s.candidates + n, std::greater<>());
  double sum = 0;
  for (int64_t j = 0; j < top; ++j) sum += s.candidates[j];
  return sum;
}

SelectivityFactors HeadStatsTarget(const HeadStatsArgs& args, std::byte* scratch) {
  const int64_t P = args.cached.length, S = P + args.current.length;
  const StatsScratch s = LayOutStatsScratch(scratch, S, args.D);
  StatsLogits(args, S, s);
  const bool some = P > args.top, grouped = some && args.top <= kStatsGroups && P >= 2 * kStatsGroups;
  if (grouped) std::fill_n(s.groups_GW, kStatsGroups * W, 0.0f);
  double history_W[W] = {}, current_W[W] = {};
  StatsExponentials(0, P, s, grouped, history_W);
  StatsExponentials(P, S, s, false, current_W);
  if (some && !grouped) std::fill_n(s.groups_GW, kStatsGroups * W, 0.0f);  // a bound that all keys reach
  SelectivityFactors sums;
  for (size_t i = 0; i < args.queries.size(); ++i) {
    const double total = history_W[i] + current_W[i];
    sums.current += current_W[i] / total;
    sums.top += (some ? StatsTop(static_cast<int64_t>(i), P, args.top, s) : history_W[i]) / total;
  }
  return sums;
}

}  // namespace nextscale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale {

HWY_EXPORT(HeadStatsTarget);

SelectivityFactors HeadStatsCpu(const HeadStatsArgs& args, std::byte* scratch) {
  return HWY_DYNAMIC_DISPATCH(HeadStatsTarget)(args, scratch);
}

size_t AttentionStatsScratchBytes(int64_t S, int64_t D) {
  return static_cast<size_t>(StatsScratchFloats(S, D)) * sizeof(float) + 64;
}

}  // namespace nextscale
#endif
