// Splitting of rows among threads for the ops that are bound by memory.
#pragma once

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "base/threads.h"

namespace nextscale {

// About 64 KiB of f32 a chunk: some microseconds, well above what handing it out costs.
inline constexpr int64_t kChunkElements = 1 << 14;

// Calls body(begin, end, thread) for runs of [0, rows) whose rows have `width` elements each.
inline void ForRowChunks(int64_t rows, int64_t width,
                         absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> body) {
  const int64_t size = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, width));
  ParallelFor((rows + size - 1) / size,
              [&](int64_t i, int thread) { body(i * size, std::min(rows, (i + 1) * size), thread); });
}

}  // namespace nextscale
