// How much attention an observation window's queries pay to each key of a head: what cache policies rank
// tokens by (scalekv.md, step 2).
#pragma once

#include <span>

#include "ops/attention.h"

namespace nextscale {

struct WindowScoresArgs {
  ConstView q;                    // [L, H*D] one stream's queries as attention used them; f32 or bf16
  std::span<const int32_t> rows;  // which of them observe
  int64_t head = 0, D = 0;        // head's queries at column head*D
  HeadKv cached, current;         // the head's keys, in this order; same dtype as q
  float scale = 1.0f;
  bool softmax = true;  // false: sums of logits
};

// scores[j] = sum over rows of softmax_j(scale * q.k_j), or of the logits; f32 arithmetic. scores:
// cached.length + current.length. Runs on the calling thread; `scratch` of WindowScoresScratchBytes.
void WindowScores(const WindowScoresArgs& args, Backend backend, std::span<float> scores, std::byte* scratch);
size_t WindowScoresScratchBytes(int64_t rows, int64_t keys, int64_t D);

}  // namespace nextscale
