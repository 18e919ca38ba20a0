// The definition of resizing: torch's upsample_bilinear2d (align_corners=False) and adaptive_avg_pool2d.
#include <algorithm>

#include "ops/resample_internal.h"

namespace nextscale::resample {

// Positions in f32 as torch has them: they decide which neighbours are read.
BilinearAxis MakeBilinearAxis(int64_t in, int64_t out) {
  const int64_t size = out + kAxisPadding;
  BilinearAxis axis{std::vector<int32_t>(size), std::vector<int32_t>(size), std::vector<float>(size),
                    std::vector<float>(size)};
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  for (int64_t i = 0; i < out; ++i) {
    const float at = std::max(0.0f, scale * (static_cast<float>(i) + 0.5f) - 0.5f);
    const int64_t low = std::min(static_cast<int64_t>(at), in - 1);
    const float weight = std::clamp(at - static_cast<float>(low), 0.0f, 1.0f);
    axis.low[i] = static_cast<int32_t>(low);
    axis.high[i] = static_cast<int32_t>(std::min(low + 1, in - 1));
    axis.weight_low[i] = 1.0f - weight;
    axis.weight_high[i] = weight;
  }
  return axis;
}

void BilinearReference(ConstView from, View to) {
  const int64_t h = from.dim(1), w = from.dim(2);
  const BilinearAxis ys = MakeBilinearAxis(h, to.dim(1)), xs = MakeBilinearAxis(w, to.dim(2));
  float* out = to.data<float>();
  for (int64_t c = 0; c < to.dim(0); ++c) {
    const float* map = from.data<float>() + c * h * w;
    for (int64_t y = 0; y < to.dim(1); ++y) {
      for (int64_t x = 0; x < to.dim(2); ++x) {
        const auto along = [&](const float* row) {
          return xs.weight_low[x] * row[xs.low[x]] + xs.weight_high[x] * row[xs.high[x]];
        };
        *out++ =
            ys.weight_low[y] * along(map + ys.low[y] * w) + ys.weight_high[y] * along(map + ys.high[y] * w);
      }
    }
  }
}

void AreaReference(ConstView from, View to, int64_t begin, int64_t end) {
  const int64_t h = from.dim(1), w = from.dim(2), H = to.dim(1), W = to.dim(2);
  for (int64_t c = begin; c < end; ++c) {
    const float* map = from.data<float>() + c * h * w;
    float* out = to.data<float>() + c * H * W;
    for (int64_t i = 0; i < H; ++i) {
      const int64_t y0 = i * h / H, y1 = ((i + 1) * h + H - 1) / H;
      for (int64_t j = 0; j < W; ++j) {
        const int64_t x0 = j * w / W, x1 = ((j + 1) * w + W - 1) / W;
        double sum = 0;
        for (int64_t y = y0; y < y1; ++y) {
          for (int64_t x = x0; x < x1; ++x) sum += map[y * w + x];
        }
        out[i * W + j] = static_cast<float>(sum / static_cast<double>((y1 - y0) * (x1 - x0)));
      }
    }
  }
}

}  // namespace nextscale::resample
