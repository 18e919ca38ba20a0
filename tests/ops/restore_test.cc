// FastVAR's restoration against its scalar twin, against resizing and scattering, and by hand.
#include "ops/restore.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ops/resample.h"
#include "row_problem.h"

namespace nextscale {
namespace {

struct RestoreCase {
  MapSize map, source;
  int64_t streams, width, kept;
};
// Growing by whole and by broken factors, not at all, along one axis only, and shrinking.
const RestoreCase kCases[] = {{{32, 32}, {24, 24}, 2, 64, 615}, {{40, 40}, {24, 24}, 2, 20, 800},
                              {{6, 9}, {3, 3}, 3, 17, 11},      {{5, 7}, {5, 7}, 1, 33, 1},
                              {{4, 9}, {4, 5}, 2, 1, 0},        {{3, 2}, {7, 9}, 2, 40, 3},
                              {{2, 2}, {1, 1}, 1, 8, 4},        {{48, 20}, {36, 15}, 1, 2071, 480}};

struct Problem {
  RestoreCase c;
  Tensor x, fresh, stored;
  std::vector<int32_t> rows;
  Problem(const RestoreCase& c, DType type)
      : c(c),
        x(RandomTensor({c.streams * c.map.tokens(), c.width}, DType::kF32, 0.0f, 2.0f, 1)),
        fresh(RandomTensor({c.streams * c.kept, c.width}, type, 0.0f, 1.0f, 2)),
        stored(RandomTensor({c.streams * c.source.tokens(), c.width}, type, 0.0f, 1.0f, 3)) {
    std::mt19937 generator(4);
    for (int64_t b = 0; b < c.streams; ++b) {
      std::vector<int32_t> all(c.map.tokens()), some;
      std::iota(all.begin(), all.end(), static_cast<int32_t>(b * c.map.tokens()));
      std::sample(all.begin(), all.end(), std::back_inserter(some), c.kept, generator);
      rows.insert(rows.end(), some.begin(), some.end());
    }
  }
  Tensor Run(const OpContext& ctx) const {
    Tensor y(DType::kF32, x.shape(), {});
    std::copy_n(x.data<float>(), x.elements(), y.data<float>());
    RestoreInto({.x = y.view(),
                 .fresh = fresh.view(),
                 .rows = rows,
                 .stored = stored.view(),
                 .map = c.map,
                 .source = c.source},
                ctx);
    return y;
  }
};

TEST(Restore, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const RestoreCase& c : kCases) {
    for (const DType type : {DType::kF32, DType::kBF16}) {
      const Problem p(c, type);
      // Values up to 8, a sum and a mean: three roundings of 2^-24 of that.
      EXPECT_EQ(DifferenceFromTwin(p.Run(fast), p.Run(twin), 1.5e-6), "")
          << ToString(p.x.shape()) << " " << Name(type);
    }
  }
}

// Per stream: x + ResizeArea of the stored map, with the fresh rows in place.
TEST(Restore, IsAreaResizingWithRowsScattered) {
  const Problem p({{9, 6}, {4, 5}, 2, 3, 10}, DType::kF32);
  const OpContext ctx;
  const Tensor got = p.Run(ctx);
  const int64_t n = p.c.map.tokens(), s = p.c.source.tokens(), C = p.c.width;
  std::vector<float> expected = Floats(p.x);
  for (int64_t b = 0; b < p.c.streams; ++b) {
    Tensor small(DType::kF32, {C, 4, 5}, {}), large(DType::kF32, {C, 9, 6}, {}),
        rows(DType::kF32, {n, C}, {});
    TokensToChannels(p.stored.view().Rows(b * s, s), small.view());
    ResizeArea(small.view(), large.view(), ctx);
    ChannelsToTokens(large.view(), rows.view());
    for (int64_t i = 0; i < p.c.kept; ++i) {
      const int64_t place = p.rows[b * p.c.kept + i] - b * n;
      std::copy_n(p.fresh.data<float>() + (b * p.c.kept + i) * C, C, rows.data<float>() + place * C);
    }
    for (int64_t i = 0; i < n * C; ++i) expected[b * n * C + i] += rows.data<float>()[i];
  }
  EXPECT_EQ(FirstDifference(Floats(got), expected, 0, 1.5e-6), "");
}

// A 1x2 map grown to 1x3: the middle is the mean of both. The last token ran.
TEST(Restore, ByHand) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    Tensor x(DType::kF32, {3, 1}, {}), fresh(DType::kF32, {1, 1}, {}), stored(DType::kF32, {2, 1}, {});
    for (int i = 0; i < 3; ++i) x.data<float>()[i] = 100;
    fresh.data<float>()[0] = 7;
    stored.data<float>()[0] = 2;
    stored.data<float>()[1] = 4;
    const std::vector<int32_t> rows = {2};
    RestoreInto({.x = x.view(),
                 .fresh = fresh.view(),
                 .rows = rows,
                 .stored = stored.view(),
                 .map = {1, 3},
                 .source = {1, 2}},
                OpContext(backend));
    EXPECT_EQ(Floats(x), (std::vector<float>{102, 103, 107}));
  }
}

TEST(Restore, DoesNotDependOnThreads) {
  const OpContext ctx;
  const Problem p(kCases[1], DType::kBF16);
  const Tensor many = p.Run(ctx);
  const ThreadsScope one(1);
  EXPECT_TRUE(SameBytes(many, p.Run(ctx)));
}

}  // namespace
}  // namespace nextscale
