// The factors of the Attention Selectivity Index: by hand, and against the scalar twin on ragged sizes.
#include "ops/attention_stats.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <functional>
#include <numeric>

#include "attention_problem.h"

namespace nextscale {
namespace {

void ForEachTarget(const std::function<void(const OpContext&)>& body) {
  const OpContext ctx;
  const int64_t targets = hwy::SupportedTargets();
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SSE4}) {
    if (!(targets & target)) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body(ctx);
  }
  hwy::SetSupportedTargetsForTest(targets);
}

// f32 logits are off by about 1e-6 for sums of up to 128 products of normal numbers with factors that make
// logits of a few units; exponentials and sums of them follow, and each factor is at most 1.
constexpr double kTolerance = 4e-6;

void ExpectLikeTwin(const AttentionCase& c, const std::vector<int32_t>& queries, int64_t top) {
  SCOPED_TRACE(testing::Message() << testing::PrintToString(c) << " top " << top);
  AttentionProblem problem(c);
  Tensor o = problem.Output();
  const AttentionArgs args = problem.Args(o);
  const auto expected = AttentionStats(args, queries, top, OpContext(Backend::kReference));
  ForEachTarget([&](const OpContext& ctx) {
    const auto got = AttentionStats(args, queries, top, ctx);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i].current, expected[i].current, kTolerance) << i;
      EXPECT_NEAR(got[i].top, expected[i].top, kTolerance) << i;
    }
  });
}

std::vector<int32_t> All(int64_t L) {
  std::vector<int32_t> rows(L);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(AttentionStats, EqualAttentionGivesSharesOfTheKeys) {
  AttentionProblem problem({.B = 1, .L = 3, .H = 1, .D = 4, .cached = {5}, .current = {3}});
  Tensor o = problem.Output();
  problem.q().FillZero();  // all logits 0: a = 1/8
  for (const Backend backend : {Backend::kReference, Backend::kFast}) {
    const auto stats = AttentionStats(problem.Args(o), All(3), 2, OpContext(backend));
    ASSERT_EQ(stats.size(), 1u);
    EXPECT_NEAR(stats[0].current, 3.0 / 8, 1e-7);
    EXPECT_NEAR(stats[0].top, 2.0 / 8, 1e-7);
  }
}

TEST(AttentionStats, OneKeyThatTakesAllCountsWhereItLies) {
  // Keys of one dimension: 0 but for one; the query is large.
  std::vector<float> q = {40}, cached = {0, 1, 0}, current = {0};
  Tensor o(DType::kF32, {1, 1}, {});
  const std::vector<HeadKv> history = {{cached.data(), nullptr, 3}}, map = {{current.data(), nullptr, 1}};
  const AttentionArgs args{.q = ConstView(reinterpret_cast<const std::byte*>(q.data()), DType::kF32, {1, 1}),
                           .o = o.view(),
                           .B = 1,
                           .L = 1,
                           .H = 1,
                           .D = 1,
                           .cached_BH = history,
                           .current_BH = map};
  for (const Backend backend : {Backend::kReference, Backend::kFast}) {
    const auto in_history = AttentionStats(args, All(1), 1, OpContext(backend));
    EXPECT_NEAR(in_history[0].top, 1, 1e-6);
    EXPECT_NEAR(in_history[0].current, 0, 1e-6);
    AttentionArgs swapped = args;
    swapped.cached_BH = map;
    swapped.current_BH = history;
    const auto in_map = AttentionStats(swapped, All(1), 1, OpContext(backend));
    EXPECT_NEAR(in_map[0].top, 0, 1e-6);
    EXPECT_NEAR(in_map[0].current, 1, 1e-6);
  }
}

TEST(AttentionStats, WithoutHistoryAllIsCurrent) {
  AttentionProblem problem({.B = 2, .L = 5, .H = 3, .D = 24, .current = {5}});
  Tensor o = problem.Output();
  for (const Backend backend : {Backend::kReference, Backend::kFast}) {
    for (const SelectivityFactors& f : AttentionStats(problem.Args(o), All(5), 64, OpContext(backend))) {
      EXPECT_NEAR(f.current, 1, 1e-6);
      EXPECT_EQ(f.top, 0);
    }
  }
}

TEST(AttentionStats, MatchesTheTwin) {
  // Fewer keys than K', as many, a few more; groups just filled and not; ragged queries, keys and widths.
  ExpectLikeTwin({.B = 1, .L = 1, .H = 1, .D = 1, .cached = {1}, .current = {1}}, All(1), 1);
  ExpectLikeTwin({.B = 2, .L = 17, .H = 3, .D = 24, .cached = {30}, .current = {17}}, All(17), 64);
  ExpectLikeTwin({.B = 1, .L = 33, .H = 2, .D = 16, .cached = {64}, .current = {33}}, All(33), 64);
  ExpectLikeTwin({.B = 1, .L = 9, .H = 2, .D = 33, .cached = {65}, .current = {9}}, All(9), 64);
  ExpectLikeTwin({.B = 1, .L = 20, .H = 1, .D = 32, .cached = {511}, .current = {20}}, All(20), 64);
  ExpectLikeTwin({.B = 1, .L = 20, .H = 1, .D = 32, .cached = {512}, .current = {20}}, All(20), 64);
  ExpectLikeTwin({.B = 1, .L = 31, .H = 2, .D = 128, .cached = {1503}, .current = {31}}, All(31), 64);
  ExpectLikeTwin({.B = 1, .L = 16, .H = 1, .D = 32, .cached = {700}, .current = {16}}, All(16), 256);
  ExpectLikeTwin({.B = 1, .L = 16, .H = 1, .D = 32, .cached = {700}, .current = {16}}, All(16), 257);
  // Logits of a few tens: most exponentials vanish and the largest few take all.
  ExpectLikeTwin({.B = 1, .L = 18, .H = 2, .D = 32, .cached = {600}, .current = {18}, .q_factor = 8}, All(18),
                 3);
}

TEST(AttentionStats, HeadsHaveTheirOwnLengths) {
  ExpectLikeTwin(
      {.B = 2, .L = 7, .H = 2, .D = 16, .cached = {5, 0, 900, 64}, .current = {7}, .dtype = DType::kBF16},
      All(7), 64);
}

TEST(AttentionStats, ASampleIsTheMeanOfItsQueries) {
  AttentionProblem problem({.B = 1, .L = 40, .H = 2, .D = 16, .cached = {90}, .current = {40}});
  Tensor o = problem.Output();
  const OpContext ctx;
  const std::vector<int32_t> sample = {3, 7, 39};
  const auto together = AttentionStats(problem.Args(o), sample, 8, ctx);
  for (int64_t head = 0; head < 2; ++head) {
    double current = 0, top = 0;
    for (int32_t row : sample) {
      const auto alone = AttentionStats(problem.Args(o), std::vector<int32_t>{row}, 8, ctx);
      current += alone[head].current / 3;
      top += alone[head].top / 3;
    }
    EXPECT_NEAR(together[head].current, current, 1e-12);
    EXPECT_NEAR(together[head].top, top, 1e-12);
  }
}

}  // namespace
}  // namespace nextscale
