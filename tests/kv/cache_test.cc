#include "kv/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace nextscale {
namespace {

using testing::ElementsAre;

// Keys hold their token's number, values its negative.
class CacheTest : public testing::Test {
 protected:
  static constexpr int64_t kStreams = 2, kHeads = 2, kDim = 4;

  void Add(KvCache& cache, int64_t layer, int32_t first, int64_t n) {
    Make(first, n);
    cache.Append(layer, {.k = k_.view(), .v = v_.view(), .tokens_B = tokens_});
  }
  void Make(int32_t first, int64_t n) {
    k_ = Tensor(DType::kF32, {kStreams, kHeads, n, kDim}, {});
    v_ = Tensor(DType::kF32, {kStreams, kHeads, n, kDim}, {});
    for (int64_t i = 0; i < k_.elements(); ++i) {
      const float token = static_cast<float>(first + i / kDim % n);
      k_.data<float>()[i] = token;
      v_.data<float>()[i] = -token;
    }
    std::vector<int32_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), first);
    tokens_.assign(kStreams, numbers);
  }
  static std::vector<float> Keys(const KvCache& cache, int64_t layer, int64_t i) {
    std::vector<float> out;
    const HeadKv& head = cache.Heads(layer)[i];
    for (int64_t j = 0; j < head.length; ++j) {
      const float key = static_cast<const float*>(head.k)[j * kDim + 3];
      EXPECT_EQ(static_cast<const float*>(head.v)[j * kDim + 1], -key);
      out.push_back(key);
    }
    return out;
  }

  Tensor k_, v_;
  std::vector<std::vector<int32_t>> tokens_;
  MemoryLedger ledger_;
};

TEST_F(CacheTest, AppendsInOrderAndCountsBytes) {
  KvCache cache({.layers = 2, .streams = kStreams, .heads = kHeads, .head_dim = kDim, .capacity = 10},
                DType::kF32, &ledger_);
  Add(cache, 1, 0, 1);
  Add(cache, 1, 1, 4);
  EXPECT_THAT(Keys(cache, 1, 3), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(cache.TokensHeld(0), 0);
  EXPECT_EQ(cache.TokensHeld(1), 5);
  EXPECT_EQ(cache.bytes(), 2 * kStreams * kHeads * 5 * kDim * 4);
  EXPECT_EQ(ledger_.current(Account::kKv), cache.bytes());
}

TEST_F(CacheTest, KeepsADifferentSelectionForEachHead) {
  KvCache cache({.layers = 1, .streams = kStreams, .heads = kHeads, .head_dim = kDim, .capacity = 10},
                DType::kF32, &ledger_);
  Add(cache, 0, 0, 4);
  Make(4, 3);
  const std::vector<std::vector<int32_t>> keep = {{0, 1, 2, 3, 4, 5, 6}, {1, 3, 5}, {6}, {0, 4, 5, 6}};
  cache.Keep(0, {.k = k_.view(), .v = v_.view(), .tokens_B = tokens_}, keep);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(Keys(cache, 0, i), std::vector<float>(keep[i].begin(), keep[i].end())) << i;
    EXPECT_THAT(cache.Tokens(0, i / kHeads, i % kHeads), testing::ElementsAreArray(keep[i]));
  }
  EXPECT_EQ(cache.bytes(), 2 * (7 + 3 + 1 + 4) * kDim * 4);
}

TEST_F(CacheTest, GoesOnWithTheFirstStreams) {
  KvCache cache({.layers = 2, .streams = kStreams, .heads = kHeads, .head_dim = kDim, .capacity = 10},
                DType::kF32, &ledger_);
  Add(cache, 0, 0, 3);
  Add(cache, 1, 0, 3);
  Make(3, 2);
  const CurrentKeys first{.k = k_.view().Rows(0, 1), .v = v_.view().Rows(0, 1), .tokens_B = tokens_};
  cache.Append(0, first);  // the other stream keeps what it has
  EXPECT_THAT(Keys(cache, 0, 1), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Keys(cache, 0, 3), ElementsAre(0, 1, 2));
  EXPECT_EQ(cache.Heads(0).size(), kStreams * kHeads);
  cache.KeepStreams(1);
  EXPECT_EQ(cache.Heads(1).size(), kHeads);
  EXPECT_EQ(cache.bytes(), 2 * kHeads * (5 + 3) * kDim * 4);
  EXPECT_EQ(ledger_.current(Account::kKv), cache.bytes());
  const std::vector<std::vector<int32_t>> keep = {{0, 4}, {3}};
  cache.Keep(1, first, keep);
  EXPECT_THAT(Keys(cache, 1, 0), ElementsAre(0, 4));
  EXPECT_THAT(Keys(cache, 1, 1), ElementsAre(3));
}

TEST_F(CacheTest, GivesMemoryBackAtOnce) {
  const int64_t before = ResidentBytes(), tokens = 1 << 18;
  KvCache cache({.layers = 1, .streams = kStreams, .heads = kHeads, .head_dim = kDim, .capacity = tokens},
                DType::kF32, &ledger_);
  Add(cache, 0, 0, tokens);
  k_ = Tensor();
  v_ = Tensor();
  const int64_t held = cache.bytes();
  EXPECT_GT(ResidentBytes() - before, held * 9 / 10);
  Make(tokens, 1);
  const std::vector<std::vector<int32_t>> keep(kStreams * kHeads, std::vector<int32_t>{0, 1});
  cache.Keep(0, {.k = k_.view(), .v = v_.view(), .tokens_B = tokens_}, keep);
  EXPECT_LT(ResidentBytes() - before, held / 4);  // token numbers and the allocator's own share remain
}

}  // namespace
}  // namespace nextscale
