// Policies on cases small enough to check by eye.
#include "kv/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kv/scalekv.h"
#include "kv/scalekv_reference.h"
#include "kv/scored_policy.h"
#include "kv/sliding_window.h"
#include "kv/snapkv.h"
#include "kv/streaming_llm.h"

namespace nextscale {
namespace {

using testing::ElementsAre;

std::vector<int32_t> Numbers(int32_t n) {
  std::vector<int32_t> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(SlidingWindow, KeepsTheMostRecent) {
  const std::vector<int32_t> tokens = Numbers(6);
  EXPECT_THAT(MakeSlidingWindow()->Select({.tokens = tokens, .budget = 2}), ElementsAre(4, 5));
}

TEST(StreamingLlm, KeepsSinksAndTheMostRecent) {
  const std::vector<int32_t> tokens = Numbers(8);
  EXPECT_THAT(MakeStreamingLlm(2)->Select({.tokens = tokens, .budget = 5}), ElementsAre(0, 1, 5, 6, 7));
  EXPECT_THAT(MakeStreamingLlm(4)->Select({.tokens = tokens, .budget = 3}), ElementsAre(0, 1, 2));
}

TEST(WindowAndBest, PrefersTheLowerPlaceAmongEqualScores) {
  const std::vector<float> scores = {1, 3, 3, 2, 3, 9};
  const std::vector<int32_t> window = {5};
  EXPECT_THAT(WindowAndBest(scores, window, 2), ElementsAre(1, 2, 5));
  EXPECT_THAT(WindowAndBest(scores, window, 0), ElementsAre(5));
}

TEST(PoolScores, StaysInsideAScaleAndLeavesTheWindowOut) {
  const std::vector<int32_t> tokens = {0, 1, 2, 5, 6};  // scale 0 is tokens 0..3, scale 1 is 4..7
  const std::vector<int32_t> window = {4};
  const std::vector<float> scores = {6, 0, 0, 4, 100};
  const std::vector<int64_t> ends = {4, 8};
  const HeadScores head{.tokens = tokens, .window = window, .scores = scores, .budget = 3};
  EXPECT_THAT(PoolScores(head, ends, Pooling::kAverage), ElementsAre(2, 2, 2, 4, 4));
  EXPECT_THAT(PoolScores(head, ends, Pooling::kMax), ElementsAre(6, 6, 6, 4, 4));
  EXPECT_THAT(PoolScores(head, ends, Pooling::kNone), ElementsAre(6, 0, 0, 4, 100));
}

TEST(SnapKv, ObservesTheLastTokens) {
  const auto policy = MakeSnapKv({.window = 3, .scale_ends = {4, 20}});
  const ObservationWindow window = policy->Window({.scale = 1, .map = {4, 4}, .cached = 4, .n = 16});
  EXPECT_THAT(window.places, ElementsAre(17, 18, 19));
  EXPECT_THAT(window.queries, ElementsAre(13, 14, 15));
  EXPECT_THAT(policy->Window({.scale = 0, .map = {1, 2}, .cached = 0, .n = 2}).places, ElementsAre(0, 1));
}

TEST(ScaleKv, ObservesPatchCentres) {
  // 8 x 8 in 4 x 4 patches of 2 x 2: centre floor((first + last) / 2) is the patch's first row and column.
  const std::vector<int32_t> centres = PatchCentres({8, 8}, 4);
  ASSERT_EQ(centres.size(), 16u);
  EXPECT_EQ(centres[0], 0);
  EXPECT_EQ(centres[1], 2);
  EXPECT_EQ(centres[5], 2 * 8 + 2);
  EXPECT_EQ(PatchCentres({64, 64}, 4)[0], 7 * 64 + 7);            // i*n/g + (n/g-1)/2
  EXPECT_EQ(PatchCentres({1, 1}, 4), (std::vector<int32_t>{0}));  // an edge of n < g tokens has n patches
  EXPECT_EQ(PatchCentres({2, 3}, 4).size(), 6u);
}

TEST(ScaleKv, TakesTheNearestKeptTokensAfterPruning) {
  const auto policy = MakeScaleKv({.window = 4, .scale_ends = {16}});
  // Centres of 2 x 2 patches of a 4 x 4 map: (0,0) (0,2) (2,0) (2,2); kept are the second column and the last
  // row.
  const std::vector<int32_t> at = {1, 5, 9, 12, 13, 14, 15};
  const ObservationWindow window = policy->Window({.scale = 0, .map = {4, 4}, .cached = 0, .n = 7, .at = at});
  // (0,0) -> (0,1); (0,2) -> (1,1) at distance 2, as (0,1) is taken; (2,0) -> (2,1); (2,2) -> (3,2).
  EXPECT_THAT(window.queries, ElementsAre(0, 1, 2, 5));
}

TEST(ScaleKv, KeepsTheWindowAndWhatItLooksAt) {
  const auto policy = MakeScaleKv({.window = 1, .scale_ends = {4, 8}});
  const std::vector<int32_t> tokens = Numbers(8), window = {5};
  std::vector<float> scores(8, 0.0f);
  scores[1] = 1.0f;
  EXPECT_THAT(policy->Select({.tokens = tokens, .window = window, .scores = scores, .budget = 2}),
              ElementsAre(0, 5));  // the pool spreads it to 0..3
}

TEST(ScaleKvReference, TakesTheLastTokensAsASquareWhateverTheMap) {
  const auto policy = MakeScaleKvReference(16);
  // Scale 7 counts as 20 x 20: the last 400 of 700 cached tokens; centres of 5 x 5 patches.
  const ObservationWindow window = policy->Window({.scale = 7, .map = {15, 18}, .cached = 430, .n = 270});
  ASSERT_EQ(window.places.size(), 16u);
  EXPECT_EQ(window.places[0], 300 + 2 * 20 + 2);
  EXPECT_EQ(window.queries[0], 0);  // outside the real map: its first token
  EXPECT_EQ(window.queries[15], window.places[15] - 430);
}

TEST(ScaleKvReference, PoolsWithMaxOverAllButTheWindow) {
  const auto policy = MakeScaleKvReference(1);
  const std::vector<int32_t> tokens = Numbers(8), window = {7};
  const std::vector<float> scores = {-5, -5, -5, -1, -5, -5, -9, 100};
  // The maximum -1 at place 3 spreads over 1..5; the lower places win.
  EXPECT_THAT(policy->Select({.tokens = tokens, .window = window, .scores = scores, .budget = 4}),
              ElementsAre(1, 2, 3, 7));
}

}  // namespace
}  // namespace nextscale
