// Sampling as oracle/var_infinity.py states it (probabilities, generate) and cli.md ("Seeds").
#include <Random123/philox.h>

#include <algorithm>
#include <cmath>

#include "ops/sample_internal.h"

namespace nextscale {

BitProbabilities TopP(float logit0, float logit1, double top_p, int top_k) {
  if (top_k == 1 && logit0 != logit1) (logit0 < logit1 ? logit0 : logit1) = -INFINITY;
  const float largest = std::max(logit0, logit1);
  const float e0 = std::exp(logit0 - largest), e1 = std::exp(logit1 - largest), sum = e0 + e1;
  BitProbabilities p{e0 / sum, e1 / sum};
  if (top_p <= 0) return p;
  float& smaller = p.p1 < p.p0 ? p.p1 : p.p0;
  if (smaller <= static_cast<float>(1.0 - top_p)) smaller = 0;
  const float kept = p.p0 + p.p1;
  return {p.p0 / kept, p.p1 / kept};
}

std::array<uint32_t, 4> Philox(uint64_t seed, std::array<uint32_t, 4> counter) {
  const r123::Philox4x32::ctr_type in = {{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type key = {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32()(in, key);
  return {out[0], out[1], out[2], out[3]};
}

// A double has 53 bits, so of 64 random ones the lower 53 are taken, as by torch's exponential_().
TorchExponential::TorchExponential(uint64_t seed) : words_(static_cast<uint32_t>(seed)) {}

void TorchExponential::Fill(std::span<float> out) {
  constexpr uint64_t kMask = (uint64_t{1} << 53) - 1;
  for (float& e : out) {
    const uint64_t high = words_(), low = words_();
    const double u = static_cast<double>(((high << 32) | low) & kMask) * 0x1p-53;
    e = static_cast<float>(-std::log1p(-u));
  }
}

void BitsToCode(ConstView bits, View code) {
  NS_CHECK(bits.shape() == code.shape(), "bits {}, code {}", ToString(bits.shape()), ToString(code.shape()));
  const uint8_t* b = bits.data<uint8_t>();
  float* c = code.data<float>();
  const float root = static_cast<float>(std::sqrt(static_cast<double>(bits.dim(0))));
  for (int64_t i = 0; i < bits.elements(); ++i) c[i] = (b[i] ? 1.0f : -1.0f) / root;
}

namespace sample {

void GuideElements(ConstView cond, ConstView uncond, float cfg, float tau, View out, int64_t begin,
                   int64_t end) {
  const float* c = cond.data<float>();
  const float* u = uncond.raw() ? uncond.data<float>() : nullptr;
  float* o = out.data<float>();
  const float rest = 1.0f - cfg;
  for (int64_t i = begin; i < end; ++i) o[i] = u ? cfg * (c[i] / tau) + rest * (u[i] / tau) : c[i] / tau;
}

void PhiloxTokens(const SampleArgs& args, int64_t begin, int64_t end) {
  const int64_t d = args.bits.dim(1);
  const float* logits = args.logits.data<float>();
  uint8_t* bits = args.bits.data<uint8_t>();
  for (int64_t i = begin * d; i < end * d; ++i) {
    const int64_t token = i / d, row = token / args.map.w, column = token % args.map.w;
    const auto words = Philox(args.seed, {args.scale, static_cast<uint32_t>(row),
                                          static_cast<uint32_t>(column), static_cast<uint32_t>(i % d)});
    const float u = static_cast<float>(words[0] >> 8) * 0x1p-24f;
    bits[i] = u < TopP(logits[2 * i], logits[2 * i + 1], args.top_p, args.top_k).p1;
  }
}

void ExponentialTokens(const ExponentialArgs& args, int64_t begin, int64_t end) {
  const int64_t d = args.bits.dim(1);
  const float* logits = args.logits.data<float>();
  const float* draws = args.draws.data<float>();
  uint8_t* bits = args.bits.data<uint8_t>();
  const auto quotient = [](float p, float e) { return p == 0 ? 0.0f : p / e; };
  for (int64_t i = begin * d; i < end * d; ++i) {
    const BitProbabilities p = TopP(logits[2 * i], logits[2 * i + 1], args.top_p, args.top_k);
    bits[i] = quotient(p.p1, draws[2 * i + 1]) > quotient(p.p0, draws[2 * i]);
  }
}

}  // namespace sample
}  // namespace nextscale
