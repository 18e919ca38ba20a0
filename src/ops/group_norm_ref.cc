// GroupNorm's scalar twin: mean, then variance from differences, then the affine map, all in f64
// (torch.nn.GroupNorm, biased variance).
#include <cmath>

#include "ops/elements.h"
#include "ops/group_norm_internal.h"

namespace nextscale {

void GroupNormReference(const GroupNormWeights& weights, ConstView x, bool silu, View y) {
  const int64_t pixels = x.dim(0) * x.dim(1), C = x.dim(2), size = C / weights.groups;
  NS_CHECK(C % weights.groups == 0, "{} channels in {} groups", C, weights.groups);
  for (int64_t g = 0; g < weights.groups; ++g) {
    const auto over_group = [&](auto&& body) {
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = g * size; c < (g + 1) * size; ++c) body(p * C + c, c);
      }
    };
    const double n = static_cast<double>(pixels * size);
    double sum = 0, squares = 0;
    over_group([&](int64_t i, int64_t) { sum += Get(x, i); });
    const double mean = sum / n;
    over_group([&](int64_t i, int64_t) { squares += (Get(x, i) - mean) * (Get(x, i) - mean); });
    const double deviation = std::sqrt(squares / n + weights.epsilon);
    over_group([&](int64_t i, int64_t c) {
      const double z = (Get(x, i) - mean) / deviation * weights.gamma[c] + weights.beta[c];
      Put(y, i, static_cast<float>(silu ? Silu(z) : z));
    });
  }
}

void MeasureRowsReference(ConstView x, const ChannelMoments& moments) {
  const int64_t w = x.dim(1), C = x.dim(2);
  for (int64_t r = 0; r < x.dim(0); ++r) {
    *moments.count(r) = static_cast<float>(w);
    for (int64_t c = 0; c < C; ++c) {
      const auto at = [&](int64_t p) { return static_cast<double>(Get(x, (r * w + p) * C + c)); };
      double sum = 0, squares = 0;
      for (int64_t p = 0; p < w; ++p) sum += at(p);
      const double mean = sum / static_cast<double>(w);
      for (int64_t p = 0; p < w; ++p) squares += (at(p) - mean) * (at(p) - mean);
      moments.mean(r)[c] = static_cast<float>(mean);
      moments.m2(r)[c] = static_cast<float>(squares);
    }
  }
}

void NormPixelsReference(const ChannelAffine& affine, bool silu, ConstView x, View y) {
  const int64_t C = x.shape()[-1];
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t c = i % C;
    const double z = (static_cast<double>(Get(x, i)) - affine.mean[c]) * affine.scale[c] + affine.shift[c];
    Put(y, i, static_cast<float>(silu ? Silu(z) : z));
  }
}

}  // namespace nextscale
