// Group normalisation of feature maps (torch.nn.GroupNorm), taken apart so that a convolution can do both
// ends of it on rows that are in cache anyway: whoever writes a map leaves each part's moments, whoever reads
// it normalises on the way in. Maps are [h, w, C] (channels innermost), f32 or bf16; arithmetic is f32,
// combining is f64.
#pragma once

#include <vector>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

// Count, mean and sum of squared differences from the mean of each channel, for each part of a map. Not
// owned. Each part's differences are taken from its own mean and the parts are joined by Chan's formula in
// ascending order: the variance never is the difference of two large numbers, and doesn't depend on which
// thread measured what.
class ChannelMoments {
 public:
  ChannelMoments() = default;
  // `memory` holds Bytes(parts, channels), aligned to 4.
  ChannelMoments(std::byte* memory, int64_t parts, int64_t channels)
      : data_(reinterpret_cast<float*>(memory)), parts_(parts), channels_(channels) {}
  static int64_t Bytes(int64_t parts, int64_t channels) {
    return parts * (1 + 2 * channels) * static_cast<int64_t>(sizeof(float));
  }

  int64_t parts() const { return parts_; }
  int64_t channels() const { return channels_; }
  float* count(int64_t part) const { return data_ + part * (1 + 2 * channels_); }
  float* mean(int64_t part) const { return count(part) + 1; }
  float* m2(int64_t part) const { return mean(part) + channels_; }
  // False if any value measured was NaN or infinite.
  bool Finite() const;

 private:
  float* data_ = nullptr;
  int64_t parts_ = 0, channels_ = 0;
};

// 32 groups if the channels divide by 32, else 24; 0 if they divide by neither.
inline int64_t GroupNormGroups(int64_t channels) {
  return channels % 32 == 0 ? 32 : channels % 24 == 0 ? 24 : 0;
}

struct GroupNormWeights {
  int64_t groups = 0;
  double epsilon = 1e-6;
  std::vector<float> gamma, beta;  // [C]
};

// y = (x - mean[c]) * scale[c] + shift[c]: a GroupNorm whose statistics are known.
struct ChannelAffine {
  std::vector<float> mean, scale, shift;  // [C]
};
ChannelAffine FoldGroupNorm(const GroupNormWeights& weights, const ChannelMoments& moments);

// y = GroupNorm(x), followed by x * sigmoid(x) if `silu`. x, y [h, w, C], f32 or bf16 each; y may be x.
void GroupNorm(const GroupNormWeights& weights, ConstView x, bool silu, View y, const OpContext& ctx);

}  // namespace nextscale
