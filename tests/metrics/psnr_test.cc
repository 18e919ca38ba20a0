// PSNR and SSIM against values by hand and by NumPy.
#include "metrics/psnr.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nextscale {
namespace {

Image Flat(int64_t width, int64_t height, uint8_t value) {
  return {width, height, std::vector<uint8_t>(width * height * 3, value)};
}

// Two patterns; the second is the first with small changes.
Image Pattern(int64_t width, int64_t height, bool changed) {
  Image image{width, height, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      image.rgb.push_back(static_cast<uint8_t>((x * 7 + y * 3 + (changed ? (x * y) % 9 : 0)) % 256));
      image.rgb.push_back(static_cast<uint8_t>((x * y + (changed ? 3 : 0)) % 256));
      image.rgb.push_back(static_cast<uint8_t>((x * x + 5 * y) % (changed ? 250 : 256)));
    }
  }
  return image;
}

TEST(Psnr, ByHand) {
  EXPECT_EQ(Psnr(Flat(3, 2, 9), Flat(3, 2, 9)), std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(Psnr(Flat(3, 2, 0), Flat(3, 2, 255)), 0);
  EXPECT_NEAR(Psnr(Flat(3, 2, 100), Flat(3, 2, 101)), 48.1308036086791, 1e-9);
  Image one = Flat(10, 10, 100);
  one.rgb[17] = 110;  // one byte of 300
  EXPECT_NEAR(Psnr(one, Flat(10, 10, 100)), 20 * std::log10(255) + 10 * std::log10(300.0 / 100.0), 1e-9);
}

TEST(Psnr, AsNumPy) {
  EXPECT_NEAR(Psnr(Pattern(37, 29, false), Pattern(37, 29, true)), 17.033186101072793, 1e-9);
}

TEST(Ssim, OfFlatPicturesIsTheLuminanceTerm) {
  const double c1 = 0.01 * 255 * 0.01 * 255;
  const double expected = (2 * 100.0 * 120.0 + c1) / (100.0 * 100.0 + 120.0 * 120.0 + c1);
  // mean(x^2) - mean(x)^2 cancels to about 1e-12 of x^2, against C2 = 58.
  for (const auto& [w, h] : {std::pair{20, 30}, {11, 11}, {4, 30}, {1, 1}}) {
    EXPECT_NEAR(Ssim(Flat(w, h, 100), Flat(w, h, 120)), expected, 1e-9) << w << "x" << h;
    EXPECT_NEAR(Ssim(Pattern(w, h, true), Pattern(w, h, true)), 1, 1e-9);
  }
}

// By NumPy: every window of 11 x 11 by its definition, variances from differences.
TEST(Ssim, AsNumPy) {
  EXPECT_NEAR(Ssim(Pattern(37, 29, false), Pattern(37, 29, true)), 0.9206511400368547, 1e-9);
}

TEST(Ssim, FallsWithNoiseAndIsSymmetric) {
  const Image a = Pattern(40, 40, false);
  Image little = a, much = a;
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    const int sign = (i * 2654435761u >> 16) % 2 ? 1 : -1;
    little.rgb[i] = static_cast<uint8_t>(std::clamp(a.rgb[i] + 5 * sign, 0, 255));
    much.rgb[i] = static_cast<uint8_t>(std::clamp(a.rgb[i] + 60 * sign, 0, 255));
  }
  EXPECT_GT(Ssim(a, little), Ssim(a, much));
  EXPECT_DOUBLE_EQ(Ssim(a, much), Ssim(much, a));
}

}  // namespace
}  // namespace nextscale
