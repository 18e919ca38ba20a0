// Random weights: the same in whatever pieces, of the spread that their names ask for. And the conversions
// that reading uses, against one number at a time.
#include "checkpoint/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace nextscale {
namespace {

std::shared_ptr<const TensorSource> Source(uint64_t seed, DType dtype = DType::kF32) {
  return MakeSyntheticTensors({{"blocks.0.ffn.fc1.weight", dtype, {640, 3000}},
                               {"blocks.1.ffn.fc1.weight", dtype, {640, 3000}},
                               {"blocks.0.ada_gss", dtype, {1, 1, 6, 5000}},
                               {"blocks.0.sa.scale_mul_1H11", dtype, {1, 4000, 1, 1}},
                               {"text_norm.weight", dtype, {20000}},
                               {"head.bias", dtype, {20000}}},
                              seed);
}
std::vector<float> Read(const TensorSource& source, const std::string& name, int64_t step) {
  const TensorInfo* info = source.Find(name);
  std::vector<float> out(static_cast<size_t>(info->shape.elements()));
  const int64_t row = info->shape.elements() / info->shape[0];
  for (int64_t at = 0; at < info->shape[0]; at += step) {
    EXPECT_TRUE(
        source.ReadRows(*info, at, std::min(at + step, info->shape[0]), DType::kF32, &out[at * row]).ok());
  }
  return out;
}
struct Moments {
  double mean = 0, deviation = 0;
};
Moments MomentsOf(std::span<const float> v) {
  double sum = 0, squares = 0;
  for (float x : v) sum += x, squares += static_cast<double>(x) * x;
  const double n = static_cast<double>(v.size()), mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean)};
}

TEST(Synthetic, TheSameInAnyPieces) {
  const auto source = Source(1), again = Source(1), other = Source(2);
  for (const TensorInfo* info : source->List()) {
    const std::vector<float> whole = Read(*source, info->name, info->shape[0]);
    EXPECT_EQ(whole, Read(*again, info->name, 7)) << info->name;
    EXPECT_NE(whole, Read(*other, info->name, info->shape[0])) << info->name;
  }
  EXPECT_NE(Read(*source, "blocks.0.ffn.fc1.weight", 640), Read(*source, "blocks.1.ffn.fc1.weight", 640));
  // Stored as bf16, it reads as f32 what it reads as bf16.
  const auto half = Source(1, DType::kBF16);
  const TensorInfo* info = half->Find("text_norm.weight");
  std::vector<bf16_t> as_half(20000);
  ASSERT_TRUE(half->ReadRows(*info, 0, 20000, DType::kBF16, as_half.data()).ok());
  const std::vector<float> as_float = Read(*half, "text_norm.weight", 20000);
  for (size_t i = 0; i < as_half.size(); ++i) ASSERT_EQ(as_float[i], static_cast<float>(as_half[i]));
}

// Of n numbers the mean is off by deviation / sqrt(n), 4 times that is allowed; their deviation by less.
TEST(Synthetic, SpreadByName) {
  const auto source = Source(3);
  const auto expect = [&](std::span<const float> v, double mean, double deviation) {
    const Moments m = MomentsOf(v);
    const double slack = 4 * deviation / std::sqrt(static_cast<double>(v.size()));
    EXPECT_NEAR(m.mean, mean, slack);
    EXPECT_NEAR(m.deviation, deviation, slack);
  };
  const std::vector<float> matrix = Read(*source, "blocks.0.ffn.fc1.weight", 640),
                           gss = Read(*source, "blocks.0.ada_gss", 1);
  expect(matrix, 0, 1.1 / std::sqrt(3000));
  expect(std::span(gss).first(10000), 0.5, 0.35);
  expect(std::span(gss).subspan(10000), 0, 0.35);
  expect(Read(*source, "blocks.0.sa.scale_mul_1H11", 1), std::log(6.0), 0.5);
  expect(Read(*source, "text_norm.weight", 20000), 1, 0.25);
  expect(Read(*source, "head.bias", 20000), 0, 0.3);
  // Rows and neighbours don't follow from each other: a correlation of n numbers is off by 1 / sqrt(n).
  double by_row = 0, by_column = 0, square = 0;
  for (size_t i = 0; i + 3000 < matrix.size(); ++i) {
    by_row += matrix[i] * matrix[i + 3000], by_column += matrix[i] * matrix[i + 1],
        square += matrix[i] * matrix[i];
  }
  const double slack = 4 / std::sqrt(static_cast<double>(matrix.size()));
  EXPECT_LT(std::abs(by_row / square), slack);
  EXPECT_LT(std::abs(by_column / square), slack);
}

TEST(ConvertFloats, EveryHalf) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(halves.size());
  ConvertFloats(halves.data(), DType::kF16, floats.data(), DType::kF32, 65536);
  std::vector<bf16_t> brains(halves.size());
  ConvertFloats(halves.data(), DType::kF16, brains.data(), DType::kBF16, 65536);
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = HalfToFloat(halves[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]), std::bit_cast<uint32_t>(expected)) << i;
    ASSERT_EQ(brains[i].bits, bf16_t(expected).bits) << i;
  }
}

TEST(ConvertFloats, BrainFloatsBothWays) {
  std::vector<float> floats;
  for (uint32_t top = 0; top < 65536; ++top) {
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      floats.push_back(std::bit_cast<float>(top << 16 | low));
  }
  const int64_t n = static_cast<int64_t>(floats.size());
  std::vector<bf16_t> brains(floats.size());
  ConvertFloats(floats.data(), DType::kF32, brains.data(), DType::kBF16, n);
  std::vector<float> back(floats.size());
  ConvertFloats(brains.data(), DType::kBF16, back.data(), DType::kF32, n);
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(brains[i].bits, bf16_t(floats[i]).bits) << i;
    ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), static_cast<uint32_t>(brains[i].bits) << 16) << i;
  }
}

}  // namespace
}  // namespace nextscale
