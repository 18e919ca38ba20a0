// How much of a map's attention goes to the map itself, and how much to the few keys of its history that get
// most: the two factors of the Attention Selectivity Index (scalekv.md; equation 2 of the paper).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention.h"

namespace nextscale {

struct SelectivityFactors {
  double current = 0;  // mean over queries i of sum_{j in C} a_ij
  double top = 0;      // mean over queries i of the sum of the K' largest a_ij, j in P (of all if fewer)
};

// a = softmax(scale * q k^T) of `attention`, whose cached keys are the history P and current keys the map C;
// its values and output are not looked at, and it may have no bias. `queries`: which of the L of each stream
// are looked at. Returns [B*H], stream outermost. f32 arithmetic, means in double, whatever the dtype; the
// same bits for any number of threads. Holds a few rows of the attention matrix a thread.
std::vector<SelectivityFactors> AttentionStats(const AttentionArgs& attention,
                                               std::span<const int32_t> queries, int64_t top,
                                               const OpContext& ctx);

// Scratch that a thread holds for S keys.
size_t AttentionStatsScratchBytes(int64_t S, int64_t D);

}  // namespace nextscale
