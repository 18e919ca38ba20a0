// Resizing against its scalar twin and against torch's definitions; rearrangements against their index
// formulas.
#include "ops/resample.h"

#include <gtest/gtest.h>

#include <numeric>

#include "row_problem.h"

namespace nextscale {
namespace {

struct Resize {
  int64_t d, h, w, H, W;
};
const Resize kResizes[] = {{1, 1, 1, 1, 1},     {3, 1, 1, 5, 7},    {2, 5, 7, 1, 1},     {32, 4, 4, 64, 64},
                           {32, 64, 64, 6, 6},  {5, 6, 3, 111, 37}, {14, 111, 37, 9, 3}, {4, 20, 16, 25, 20},
                           {3, 17, 33, 17, 33}, {2, 2, 40, 3, 2},   {56, 8, 8, 16, 16}};

Tensor Map(const Resize& r) { return RandomTensor({r.d, r.h, r.w}, DType::kF32, 0.0f, 1.0f, 1); }

using Op = void (*)(ConstView, View, const OpContext&);
Tensor Resized(Op op, const Tensor& from, const Resize& r, Backend backend) {
  Tensor to(DType::kF32, {r.d, r.H, r.W}, {});
  op(from.view(), to.view(), OpContext(backend));
  return to;
}

// The twin multiplies and adds, where the machine has fused ones: three roundings of values up to 4.
TEST(ResizeBilinear, EqualsItsScalarTwin) {
  for (const Resize& r : kResizes) {
    const Tensor from = Map(r), got = Resized(ResizeBilinear, from, r, Backend::kFast),
                 expected = Resized(ResizeBilinear, from, r, Backend::kReference);
    EXPECT_EQ(DifferenceFromTwin(got, expected, 5e-7), "")
        << r.h << "x" << r.w << " to " << r.H << "x" << r.W;
  }
}

// torch: F.interpolate(torch.arange(6.).view(1, 1, 2, 3) ** 2, size, mode="bilinear").
TEST(ResizeBilinear, HasTorchsValues) {
  Tensor from(DType::kF32, {1, 2, 3}, {});
  for (int i = 0; i < 6; ++i) from.data<float>()[i] = static_cast<float>(i * i);
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    EXPECT_EQ(FirstDifference(Floats(Resized(ResizeBilinear, from, {1, 2, 3, 3, 4}, backend)),
                              {0, 0.625f, 2.125f, 4, 4.5f, 7, 10.75f, 14.5f, 9, 13.375f, 19.375f, 25.000002f},
                              1e-6, 1e-6),
              "");
    EXPECT_EQ(FirstDifference(Floats(Resized(ResizeBilinear, from, {1, 2, 3, 1, 2}, backend)), {5.5f, 13},
                              1e-6, 1e-6),
              "");
  }
}

TEST(ResizeBilinear, ToTheSameSizeIsTheMap) {
  const Resize r{3, 19, 37, 19, 37};
  const Tensor from = Map(r);
  for (const Backend backend : {Backend::kFast, Backend::kReference})
    EXPECT_TRUE(SameBytes(from, Resized(ResizeBilinear, from, r, backend)));
}

// A ramp along an axis stays a ramp inside: out(x) = in((x + 0.5) * w / W - 0.5), clamped to the border.
TEST(ResizeBilinear, KeepsRamps) {
  const Resize r{1, 1, 8, 1, 20};
  Tensor from(DType::kF32, {1, 1, 8}, {});
  std::iota(from.data<float>(), from.data<float>() + 8, 0.0f);
  const Tensor to = Resized(ResizeBilinear, from, r, Backend::kFast);
  for (int x = 0; x < 20; ++x)
    EXPECT_NEAR(to.data<float>()[x], std::clamp((x + 0.5) * 8 / 20 - 0.5, 0.0, 7.0), 1e-6) << x;
}

// Input cell y belongs to output i if [y, y+1) meets [i*h/H, (i+1)*h/H): by the fractions themselves.
double AreaOf(const Tensor& from, const Resize& r, int64_t c, int64_t i, int64_t j) {
  double sum = 0, count = 0;
  for (int64_t y = 0; y < r.h; ++y) {
    for (int64_t x = 0; x < r.w; ++x) {
      const bool in = (y + 1) * r.H > i * r.h && y * r.H < (i + 1) * r.h && (x + 1) * r.W > j * r.w &&
                      x * r.W < (j + 1) * r.w;
      if (!in) continue;
      sum += from.data<float>()[(c * r.h + y) * r.w + x];
      count += 1;
    }
  }
  return sum / count;
}

TEST(ResizeArea, AveragesTheCellsItMeets) {
  for (const Resize& r : kResizes) {
    const Tensor from = Map(r), got = Resized(ResizeArea, from, r, Backend::kFast);
    EXPECT_TRUE(SameBytes(got, Resized(ResizeArea, from, r, Backend::kReference)));
    const int64_t c = r.d - 1;
    for (int64_t i = 0; i < r.H; i += 3) {
      for (int64_t j = 0; j < r.W; j += 2)
        ASSERT_NEAR(got.data<float>()[(c * r.H + i) * r.W + j], AreaOf(from, r, c, i, j), 1e-6)
            << r.h << "x" << r.w << " to " << r.H << "x" << r.W << " at " << i << "," << j;
    }
  }
}

TEST(PixelShuffle, IsTorchs) {
  const int64_t d = 3, h = 4, w = 5;
  const Tensor from = RandomTensor({4 * d, h, w}, DType::kF32, 0.0f, 1.0f, 2);
  Tensor wide(DType::kF32, {d, 2 * h, 2 * w}, {}), back(DType::kF32, from.shape(), {});
  PixelShuffle2(from.view(), wide.view());
  for (int64_t c = 0; c < d; ++c) {
    for (int64_t y = 0; y < 2 * h; ++y) {
      for (int64_t x = 0; x < 2 * w; ++x)
        ASSERT_EQ(wide.data<float>()[(c * 2 * h + y) * 2 * w + x],
                  from.data<float>()[((4 * c + 2 * (y % 2) + x % 2) * h + y / 2) * w + x / 2]);
    }
  }
  PixelUnshuffle2(wide.view(), back.view());
  EXPECT_TRUE(SameBytes(from, back));
}

TEST(PixelShuffle, MovesBitsAsNumbers) {
  const Tensor numbers = RandomTensor({8, 3, 2}, DType::kF32, 0.0f, 1.0f, 4);
  Tensor bits(DType::kU8, numbers.shape(), {}), wide_bits(DType::kU8, {2, 6, 4}, {});
  Tensor wide(DType::kF32, wide_bits.shape(), {});
  for (int64_t i = 0; i < bits.elements(); ++i) bits.data<uint8_t>()[i] = numbers.data<float>()[i] > 0;
  PixelShuffle2(numbers.view(), wide.view());
  PixelShuffle2(bits.view(), wide_bits.view());
  for (int64_t i = 0; i < wide.elements(); ++i)
    ASSERT_EQ(wide_bits.data<uint8_t>()[i], wide.data<float>()[i] > 0) << i;
}

TEST(Tokens, AreChannelsTurned) {
  const Tensor from = RandomTensor({6, 3, 5}, DType::kF32, 0.0f, 1.0f, 3);
  Tensor tokens(DType::kF32, {15, 6}, {}), back(DType::kF32, from.shape(), {});
  ChannelsToTokens(from.view(), tokens.view());
  for (int64_t l = 0; l < 15; ++l) {
    for (int64_t c = 0; c < 6; ++c)
      ASSERT_EQ(tokens.data<float>()[l * 6 + c], from.data<float>()[c * 15 + l]);
  }
  TokensToChannels(tokens.view(), back.view());
  EXPECT_TRUE(SameBytes(from, back));
}

}  // namespace
}  // namespace nextscale
