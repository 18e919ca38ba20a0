// From guided logits to bits.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>

#include "ops/context.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// out = cfg * cond/tau + (1 - cfg) * uncond/tau; without uncond (null data) out = cond/tau. f32, equal shapes
// [L, 2d]; out may be cond.
void GuideLogits(ConstView cond, ConstView uncond, float cfg, float tau, View out, const OpContext& ctx);

// Softmax over the two logits of a bit; with top_p > 0 the smaller probability (of equal ones the first) goes
// when it is <= 1 - top_p, a difference of doubles rounded to float, and the rest is renormalised. top_k 1
// drops a smaller logit; 0 or >= 2 has no effect.
struct BitProbabilities {
  float p0, p1;
};
BitProbabilities TopP(float logit0, float logit1, double top_p, int top_k);

// Random123's Philox 4x32-10: key = (low, high half of the seed), counter = (scale, row, column, bit). -> the
// four words.
std::array<uint32_t, 4> Philox(uint64_t seed, std::array<uint32_t, 4> counter);

// Draws the bits of one image's map: bit = u < p(1), u = (word 0 >> 8) * 2^-24 of Philox(seed, (scale, row,
// column, bit)). logits [L, d, 2] (or [L, 2d]) f32, bits [L, d] u8.
struct SampleArgs {
  ConstView logits;
  View bits;
  MapSize map;
  uint32_t scale = 0;
  uint64_t seed = 0;
  double top_p = 0.97;
  int top_k = 900;
};
void SamplePhilox(const SampleArgs& args, const OpContext& ctx);

// bit = argmax p/e over the two options, equal quotients give 0, and 0/0 counts as 0. draws [L, d, 2] f32:
// torch.multinomial's exponential numbers.
void SampleExponential(ConstView logits, ConstView draws, double top_p, int top_k, View bits,
                       const OpContext& ctx);

// torch's CPU generator: the numbers of Tensor.exponential_() in order (infinity.md, "Reproducible draws").
class TorchExponential {
 public:
  explicit TorchExponential(uint64_t seed);
  void Fill(std::span<float> out);

 private:
  std::mt19937 words_;
};

// Bits u8 [d, h, w] -> code f32 [d, h, w]: (2b - 1) / sqrt(d).
void BitsToCode(ConstView bits, View code);

}  // namespace nextscale
