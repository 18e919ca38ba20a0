// GroupNorm against its scalar twin, and what its variance must survive.
#include "ops/group_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/group_norm_internal.h"
#include "row_problem.h"

namespace nextscale {
namespace {

struct Case {
  int64_t h, w, channels, groups;
  DType x, y;
  bool silu;
};

const Case kCases[] = {
    {5, 7, 64, 32, DType::kF32, DType::kF32, true},    {16, 64, 128, 32, DType::kBF16, DType::kBF16, true},
    {1, 1, 96, 32, DType::kF32, DType::kF32, false},   {33, 3, 24, 24, DType::kF32, DType::kBF16, true},
    {9, 20, 48, 24, DType::kBF16, DType::kF32, false}, {3, 2, 6, 3, DType::kF32, DType::kF32, true},
};

GroupNormWeights RandomWeights(int64_t channels, int64_t groups) {
  GroupNormWeights weights{groups, 1e-6, std::vector<float>(channels), std::vector<float>(channels)};
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(-1.5f, 1.5f);
  for (float& g : weights.gamma) g = uniform(generator);
  for (float& b : weights.beta) b = uniform(generator);
  return weights;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

TEST(GroupNorm, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), reference(Backend::kReference);
  for (const Case& c : kCases) {
    const GroupNormWeights weights = RandomWeights(c.channels, c.groups);
    const Tensor x = RandomTensor({c.h, c.w, c.channels}, c.x, 3.0f, 2.0f, 1);
    Tensor got(c.y, x.shape(), {}), expected(c.y, x.shape(), {});
    GroupNorm(weights, x.view(), c.silu, got.view(), fast);
    GroupNorm(weights, x.view(), c.silu, expected.view(), reference);
    // Values reach 7. f32: a few roundings of them; bf16: f32's difference may push one over to the
    // neighbour, 2^-6 away.
    const double tolerance = c.y == DType::kF32 ? 1e-5 : 1.0 / 32;
    EXPECT_LE(LargestDifference(Floats(got), Floats(expected)), tolerance)
        << c.h << "x" << c.w << "x" << c.channels;
  }
}

// A picture that is flat but for little: mean(x^2) - mean(x)^2 in f32 has no correct digit here.
TEST(GroupNorm, KeepsTheVarianceOfANearlyFlatMap) {
  const GroupNormWeights weights = RandomWeights(64, 32);
  const Tensor x = RandomTensor({40, 50, 64}, DType::kF32, 1000.0f, 0.05f, 2);
  Tensor got(DType::kF32, x.shape(), {}), expected(DType::kF32, x.shape(), {});
  GroupNorm(weights, x.view(), false, got.view(), OpContext(Backend::kFast));
  GroupNorm(weights, x.view(), false, expected.view(), OpContext(Backend::kReference));
  // The mean is rounded to f32 at 1000 (3e-5), which is 6e-4 of the spread.
  EXPECT_LE(LargestDifference(Floats(got), Floats(expected)), 2e-3);
}

TEST(GroupNorm, WorksInPlace) {
  const OpContext ctx;
  const GroupNormWeights weights = RandomWeights(32, 32);
  Tensor x = RandomTensor({17, 9, 32}, DType::kBF16, 0.0f, 1.0f, 3), y(DType::kBF16, x.shape(), {});
  GroupNorm(weights, x.view(), true, y.view(), ctx);
  GroupNorm(weights, x.view(), true, x.view(), ctx);
  EXPECT_EQ(Floats(x), Floats(y));
}

TEST(GroupNorm, SwishHoldsAtBothEnds) {
  const ChannelAffine identity{{0}, {1}, {0}};
  const float x[5] = {-1e30f, -100.0f, 0.0f, 100.0f, 1e30f};
  float y[5];
  NormPixels(identity, true, x, DType::kF32, 5, y, DType::kF32);
  const float expected[5] = {-0.0f, 0.0f, 0.0f, 100.0f, 1e30f};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(y[i], expected[i], 1e-30) << x[i];
}

TEST(ChannelMoments, FoldJoinsPartsOfDifferentSizes) {
  // Channel 0: {1, 2, 3} and {7}; channel 1: {5, 5, 5} and {1}. Mean of all eight 29/8, their variance from
  // the definition.
  std::vector<float> memory(ChannelMoments::Bytes(2, 2) / sizeof(float));
  const ChannelMoments moments(reinterpret_cast<std::byte*>(memory.data()), 2, 2);
  *moments.count(0) = 3, moments.mean(0)[0] = 2, moments.m2(0)[0] = 2, moments.mean(0)[1] = 5,
  moments.m2(0)[1] = 0;
  *moments.count(1) = 1, moments.mean(1)[0] = 7, moments.m2(1)[0] = 0, moments.mean(1)[1] = 1,
  moments.m2(1)[1] = 0;
  const ChannelAffine affine = FoldGroupNorm({1, 0.0, {1, 2}, {0.5f, 0.25f}}, moments);
  double variance = 0;
  for (double v : {1, 2, 3, 7, 5, 5, 5, 1}) variance += (v - 29.0 / 8) * (v - 29.0 / 8) / 8;
  for (int c = 0; c < 2; ++c) {
    EXPECT_FLOAT_EQ(affine.mean[c], 29.0f / 8);
    EXPECT_FLOAT_EQ(affine.scale[c], static_cast<float>((c + 1) / std::sqrt(variance)));
  }
  EXPECT_EQ(affine.shift, (std::vector<float>{0.5f, 0.25f}));
}

TEST(ChannelMoments, FiniteFindsNanAndInfinity) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> memory(ChannelMoments::Bytes(3, 2) / sizeof(float), 1.0f);
    const ChannelMoments moments(reinterpret_cast<std::byte*>(memory.data()), 3, 2);
    EXPECT_TRUE(moments.Finite());
    moments.mean(1)[1] = bad;
    EXPECT_FALSE(moments.Finite());
  }
}

// What was stored is what is measured, and NaN stays NaN in bf16 whatever its payload.
TEST(StorePixels, RoundsAddsAndKeepsNan) {
  float sum[3] = {1.00390625f + 1e-4f, 1.0f, std::bit_cast<float>(0x7fffffffu)};
  bf16_t y[3] = {bf16_t(0.0f), bf16_t(2.5f), bf16_t(0.0f)};
  StorePixels(sum, true, 3, y, DType::kBF16);
  EXPECT_EQ(static_cast<float>(y[0]), 1.0078125f);
  EXPECT_EQ(static_cast<float>(y[1]), 3.5f);
  EXPECT_TRUE(std::isnan(static_cast<float>(y[2])));
  EXPECT_EQ(sum[0], 1.0078125f);
}

}  // namespace
}  // namespace nextscale
