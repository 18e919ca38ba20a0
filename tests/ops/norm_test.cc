// LayerNorm and RmsNorm against their scalar twins, and how they show values that are not finite.
#include "ops/norm.h"

#include <gtest/gtest.h>

#include <cstring>

#include "row_problem.h"

namespace nextscale {
namespace {

constexpr float kEps = 1e-6f;

// Values reach 8 here; their rounding, the statistics' (sums of 2000 values keep 1e-7 relative) and one of
// the sum: about four times 2^-24 of that.
constexpr double kTolerance = 4e-6;

struct Problem {
  Tensor x;
  std::vector<float> weight, bias;
  explicit Problem(RowCase c, float mean = 1.5f, float spread = 2.0f)
      : x(RandomTensor({c.rows, c.width}, DType::kF32, mean, spread, 1)),
        weight(RandomFloats(c.width, 2)),
        bias(RandomFloats(c.width, 3)) {}
  LayerNormArgs LayerArgs(View y) const {
    return {.x = x.view(), .y = y, .weight = weight.data(), .bias = bias.data(), .eps = kEps};
  }
  Tensor Layer(DType type, const OpContext& ctx) const {
    Tensor y(type, x.shape(), {});
    EXPECT_TRUE(LayerNorm(LayerArgs(y.view()), ctx));
    return y;
  }
  Tensor Rms(DType type, const OpContext& ctx) const {
    Tensor y(type, x.shape(), {});
    EXPECT_TRUE(RmsNorm(x.view(), y.view(), weight.data(), kEps, ctx));
    return y;
  }
};

TEST(Norm, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const RowCase c : kRowCases) {
    const Problem p(c);
    for (const DType type : {DType::kF32, DType::kBF16}) {
      EXPECT_EQ(DifferenceFromTwin(p.Layer(type, fast), p.Layer(type, twin), kTolerance), "")
          << c.rows << "x" << c.width;
      EXPECT_EQ(DifferenceFromTwin(p.Rms(type, fast), p.Rms(type, twin), kTolerance), "")
          << c.rows << "x" << c.width;
    }
  }
}

TEST(Norm, TwinsAreTheFormula) {
  // LN of (1, 2, 3, 6): mean 3, variance 14/4. RMS: mean of squares 50/4.
  Tensor x(DType::kF32, {1, 4}, {}), y(DType::kF32, {1, 4}, {});
  const float values[] = {1, 2, 3, 6}, weight[] = {1, 2, 1, -1}, bias[] = {0, 0, 0.5f, 10};
  std::copy_n(values, 4, x.data<float>());
  const OpContext twin(Backend::kReference);
  ASSERT_TRUE(LayerNorm({.x = x.view(), .y = y.view(), .weight = weight, .bias = bias, .eps = 0.0f}, twin));
  const float root = std::sqrt(3.5f);
  EXPECT_EQ(FirstDifference(Floats(y), {-2 / root, -2 / root, 0.5f, 10 - 3 / root}, 1e-6, 0), "");
  ASSERT_TRUE(RmsNorm(x.view(), y.view(), weight, 0.5f, twin));
  EXPECT_EQ(
      FirstDifference(Floats(y),
                      {1 / std::sqrt(13.f), 4 / std::sqrt(13.f), 3 / std::sqrt(13.f), -6 / std::sqrt(13.f)},
                      1e-6, 0),
      "");
}

// mean(x^2) - mean(x)^2 in f32 has no correct digit here. The mean is rounded to f32 at 1000 (3e-5): 1e-3 of
// the spread.
TEST(Norm, KeepsTheVarianceOfNearlyEqualValues) {
  const Problem p({9, 2048}, 1000.0f, 0.05f);
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  EXPECT_EQ(DifferenceFromTwin(p.Layer(DType::kF32, fast), p.Layer(DType::kF32, twin), 1e-2), "");
}

TEST(Norm, SaysWhenARowIsNotFinite) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const int64_t at : {int64_t{0}, int64_t{3 * 101 + 50}, int64_t{7 * 101 - 1}}) {
        Problem p({7, 101});
        Tensor y(DType::kBF16, p.x.shape(), {});
        p.x.data<float>()[at] = bad;
        EXPECT_FALSE(LayerNorm(p.LayerArgs(y.view()), ctx)) << bad << " at " << at;
        EXPECT_FALSE(RmsNorm(p.x.view(), y.view(), p.weight.data(), kEps, ctx)) << bad << " at " << at;
      }
    }
  }
}

TEST(Norm, OfChosenRowsIsThatOfTheWhole) {
  const Problem p({67, 95});
  const std::vector<int32_t> rows = {0, 3, 4, 31, 66};
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    const Tensor whole = p.Layer(DType::kBF16, ctx);
    Tensor y(DType::kBF16, {static_cast<int64_t>(rows.size()), 95}, {});
    LayerNormArgs args = p.LayerArgs(y.view());
    args.rows = rows;
    ASSERT_TRUE(LayerNorm(args, ctx));
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(0, std::memcmp(y.data<bf16_t>() + i * 95, whole.data<bf16_t>() + rows[i] * 95, 95 * 2));
  }
}

TEST(Norm, DoesNotDependOnThreads) {
  const OpContext ctx;
  const Problem p({67, 2048});
  const Tensor many = p.Layer(DType::kF32, ctx), many_rms = p.Rms(DType::kF32, ctx);
  const ThreadsScope one(1);
  EXPECT_TRUE(SameBytes(many, p.Layer(DType::kF32, ctx)));
  EXPECT_TRUE(SameBytes(many_rms, p.Rms(DType::kF32, ctx)));
}

}  // namespace
}  // namespace nextscale
