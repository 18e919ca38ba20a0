// GroupNorm of a whole map, and the folding of measured moments into one affine map a channel.
#include "ops/group_norm.h"

#include <algorithm>
#include <cmath>

#include "ops/group_norm_internal.h"

namespace nextscale {
namespace {

// Count, mean and sum of squared differences of a growing set (Chan, Golub, LeVeque 1979).
struct Moments {
  double count = 0, mean = 0, m2 = 0;
  void Join(double n, double other_mean, double other_m2) {
    if (n == 0) return;
    const double delta = other_mean - mean, total = count + n;
    mean += delta * n / total;
    m2 += other_m2 + delta * delta * count * n / total;
    count = total;
  }
};

Moments OfGroup(const ChannelMoments& moments, int64_t begin, int64_t end) {
  Moments group;
  for (int64_t part = 0; part < moments.parts(); ++part) {
    for (int64_t c = begin; c < end; ++c)
      group.Join(*moments.count(part), moments.mean(part)[c], moments.m2(part)[c]);
  }
  return group;
}

constexpr int64_t kRowsAPart = 8;

// Converts a band of rows to f32 and measures it.
void MeasureMap(ConstView x, const ChannelMoments& moments, const OpContext& ctx) {
  const int64_t h = x.dim(0), row = x.dim(1) * x.dim(2);
  ParallelFor(moments.parts(), [&](int64_t part, int thread) {
    const int64_t begin = part * kRowsAPart, rows = std::min(kRowsAPart, h - begin);
    float* band = reinterpret_cast<float*>(ctx.scratch.ForThread(thread, rows * row * sizeof(float)));
    ConvertFloats(x.Rows(begin, rows).raw(), x.dtype(), band, DType::kF32, rows * row);
    *moments.count(part) = static_cast<float>(rows * x.dim(1));
    MeasurePixels({band, rows, x.dim(1), row, x.dim(2)}, moments.mean(part), moments.m2(part));
  });
}

}  // namespace

bool ChannelMoments::Finite() const {
  // One addition spreads any NaN or infinity; finite moments don't overflow a double.
  double sum = 0;
  for (int64_t part = 0; part < parts_; ++part) {
    for (int64_t c = 0; c < 2 * channels_; ++c) sum += std::fabs(static_cast<double>(mean(part)[c]));
  }
  return std::isfinite(sum);
}

ChannelAffine FoldGroupNorm(const GroupNormWeights& weights, const ChannelMoments& moments) {
  const int64_t C = static_cast<int64_t>(weights.gamma.size());
  NS_CHECK(weights.groups > 0 && C % weights.groups == 0, "{} channels in {} groups", C, weights.groups);
  NS_CHECK_EQ(moments.channels(), C);
  ChannelAffine affine{std::vector<float>(C), std::vector<float>(C), weights.beta};
  const int64_t size = C / weights.groups;
  for (int64_t g = 0; g < weights.groups; ++g) {
    const Moments group = OfGroup(moments, g * size, (g + 1) * size);
    const double inverse = 1.0 / std::sqrt(group.m2 / group.count + weights.epsilon);
    for (int64_t c = g * size; c < (g + 1) * size; ++c) {
      affine.mean[c] = static_cast<float>(group.mean);
      affine.scale[c] = static_cast<float>(weights.gamma[c] * inverse);
    }
  }
  return affine;
}

void GroupNorm(const GroupNormWeights& weights, ConstView x, bool silu, View y, const OpContext& ctx) {
  NS_CHECK(x.shape().rank() == 3 && x.shape() == y.shape(), "GroupNorm of {} to {}", ToString(x.shape()),
           ToString(y.shape()));
  NS_CHECK_EQ(static_cast<int64_t>(weights.gamma.size()), x.dim(2));
  NS_CHECK_EQ(weights.beta.size(), weights.gamma.size());
  if (x.elements() == 0) return;
  const ProfileScope scope(ctx.profiler, "group_norm");
  if (ctx.backend == Backend::kReference) return GroupNormReference(weights, x, silu, y);

  const int64_t C = x.dim(2), parts = (x.dim(0) + kRowsAPart - 1) / kRowsAPart;
  Buffer memory(ChannelMoments::Bytes(parts, C), {ctx.ledger, Account::kScratch});
  const ChannelMoments moments(memory.data(), parts, C);
  MeasureMap(x, moments, ctx);
  const ChannelAffine affine = FoldGroupNorm(weights, moments);
  ParallelFor(x.dim(0), [&](int64_t r, int) {
    NormPixels(affine, silu, x.Rows(r, 1).raw(), x.dtype(), x.dim(1), y.Rows(r, 1).raw(), y.dtype());
  });
}

}  // namespace nextscale
