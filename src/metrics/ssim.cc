// Structural similarity after the authors' ssim.m: windows that lie wholly inside the picture, sums weighted
// by a gaussian; no downsampling. A picture smaller than the window has a window of its own size.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "metrics/psnr.h"

namespace nextscale {
namespace {

constexpr int64_t kWindow = 11;
constexpr double kSigma = 1.5;
constexpr double kC1 = 0.01 * 255 * 0.01 * 255, kC2 = 0.03 * 255 * 0.03 * 255;

struct Map {
  int64_t width = 0, height = 0;
  std::vector<double> values;
};

// BT.601 luma.
Map Luma(const Image& image) {
  Map luma{image.width, image.height, std::vector<double>(image.width * image.height)};
  for (size_t i = 0; i < luma.values.size(); ++i) {
    luma.values[i] = 0.299 * image.rgb[3 * i] + 0.587 * image.rgb[3 * i + 1] + 0.114 * image.rgb[3 * i + 2];
  }
  return luma;
}

Map Product(const Map& a, const Map& b) {
  Map out = a;
  for (size_t i = 0; i < out.values.size(); ++i) out.values[i] *= b.values[i];
  return out;
}

std::vector<double> GaussianWeights(int64_t n) {
  std::vector<double> weights(n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) - static_cast<double>(n - 1) / 2;
    sum += weights[i] = std::exp(-x * x / (2 * kSigma * kSigma));
  }
  for (double& w : weights) w /= sum;
  return weights;
}

// The weighted mean of each window: rows, then columns.
Map Blur(const Map& map) {
  const std::vector<double> x_weights = GaussianWeights(std::min(kWindow, map.width)),
                            y_weights = GaussianWeights(std::min(kWindow, map.height));
  const int64_t nx = static_cast<int64_t>(x_weights.size()), ny = static_cast<int64_t>(y_weights.size());
  const int64_t width = map.width - nx + 1, height = map.height - ny + 1;
  Map rows{width, map.height, std::vector<double>(width * map.height, 0.0)};
  for (int64_t y = 0; y < map.height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t i = 0; i < nx; ++i)
        rows.values[y * width + x] += x_weights[i] * map.values[y * map.width + x + i];
    }
  }
  Map out{width, height, std::vector<double>(width * height, 0.0)};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t i = 0; i < ny; ++i) {
      for (int64_t x = 0; x < width; ++x)
        out.values[y * width + x] += y_weights[i] * rows.values[(y + i) * width + x];
    }
  }
  return out;
}

}  // namespace

double Ssim(const Image& a, const Image& b) {
  NS_CHECK(a.width == b.width && a.height == b.height, "{}x{} against {}x{}", a.width, a.height, b.width,
           b.height);
  const Map x = Luma(a), y = Luma(b);
  const Map mean_x = Blur(x), mean_y = Blur(y), mean_xx = Blur(Product(x, x)), mean_yy = Blur(Product(y, y)),
            mean_xy = Blur(Product(x, y));
  double sum = 0;
  for (size_t i = 0; i < mean_x.values.size(); ++i) {
    const double mx = mean_x.values[i], my = mean_y.values[i];
    const double variance_x = mean_xx.values[i] - mx * mx, variance_y = mean_yy.values[i] - my * my;
    const double covariance = mean_xy.values[i] - mx * my;
    sum += (2 * mx * my + kC1) * (2 * covariance + kC2) /
           ((mx * mx + my * my + kC1) * (variance_x + variance_y + kC2));
  }
  return sum / static_cast<double>(mean_x.values.size());
}

}  // namespace nextscale
