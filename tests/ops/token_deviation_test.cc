// FastVAR's token scores against their scalar twin and on a map a person can check.
#include "ops/token_deviation.h"

#include <gtest/gtest.h>

#include "row_problem.h"

namespace nextscale {
namespace {

std::vector<float> Scores(const Tensor& x, int64_t rows_per_stream, const OpContext& ctx) {
  std::vector<float> scores(x.dim(0));
  EXPECT_TRUE(TokenDeviation(x.view(), rows_per_stream, scores, ctx));
  return scores;
}

TEST(TokenDeviation, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const RowCase c : kRowCases) {
    for (const int64_t streams : {1, 2, 3}) {
      const Tensor x = RandomTensor({streams * c.rows, c.width}, DType::kF32, 1.5f, 2.0f, 1);
      // Sums of up to 2000 squares in f32, and a mean of values up to 10 that is 1e-6 off: it moves the
      // distance of a row near the mean by that much of its square root.
      EXPECT_EQ(FirstDifference(Scores(x, c.rows, fast), Scores(x, c.rows, twin), 2e-6, 1e-5), "")
          << streams << "x" << c.rows << "x" << c.width;
    }
  }
}

// Columns' means are 2 and 10; the second stream is its own.
TEST(TokenDeviation, IsTheSquaredDistanceFromTheStreamsMean) {
  Tensor x(DType::kF32, {6, 2}, {});
  const float values[] = {1, 10, 2, 10, 3, 10, 5, 0, 5, 3, 5, 0};
  std::copy_n(values, 12, x.data<float>());
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    EXPECT_EQ(FirstDifference(Scores(x, 3, OpContext(backend)), {1, 0, 1, 1, 4, 1}, 1e-6, 1e-6), "");
  }
}

TEST(TokenDeviation, SaysWhenAScoreIsNotFinite) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    for (const float bad : {NAN, INFINITY, 3e38f}) {
      Tensor x = RandomTensor({40, 33}, DType::kF32, 0.0f, 1.0f, 1);
      x.data<float>()[777] = bad;
      std::vector<float> scores(40);
      EXPECT_FALSE(TokenDeviation(x.view(), 20, scores, OpContext(backend))) << bad;
    }
  }
}

TEST(TokenDeviation, DoesNotDependOnThreadsOrOtherStreams) {
  const OpContext ctx;
  const Tensor x = RandomTensor({3 * 97, 2080}, DType::kF32, 0.3f, 1.0f, 1);
  const std::vector<float> many = Scores(x, 97, ctx);
  const ThreadsScope one(1);
  EXPECT_EQ(many, Scores(x, 97, ctx));
  std::vector<float> alone(97);
  EXPECT_TRUE(TokenDeviation(x.view().Rows(97, 97), 97, alone, ctx));
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), many.begin() + 97));
}

}  // namespace
}  // namespace nextscale
