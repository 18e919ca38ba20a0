// The two implementations behind window_scores.h.
#pragma once

#include "ops/window_scores.h"

namespace nextscale {

// Queries are columns of a multiple of 16 lanes, whatever the vector width.
inline int64_t PaddedQueries(int64_t rows) { return (rows + 15) / 16 * 16; }

void WindowScoresRef(const WindowScoresArgs& args, std::span<float> scores);
void WindowScoresCpu(const WindowScoresArgs& args, std::span<float> scores, std::byte* scratch);

// Key j of the two parts, one after the other.
inline const std::byte* KeyRow(const WindowScoresArgs& args, int64_t j) {
  const int64_t bytes = args.D * static_cast<int64_t>(SizeOf(args.q.dtype()));
  return j < args.cached.length
             ? static_cast<const std::byte*>(args.cached.k) + j * bytes
             : static_cast<const std::byte*>(args.current.k) + (j - args.cached.length) * bytes;
}
inline const std::byte* QueryRow(const WindowScoresArgs& args, int32_t row) {
  return args.q.raw() +
         (row * args.q.dim(1) + args.head * args.D) * static_cast<int64_t>(SizeOf(args.q.dtype()));
}

}  // namespace nextscale
