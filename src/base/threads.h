// The only thread pool: OpenMP's, which oneDNN shares. A product or convolution called inside ParallelFor
// runs on one thread.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace nextscale {

// Threads that ParallelFor uses; at the start OpenMP's own default (the processors this process may use).
int MaxThreads();
void SetMaxThreads(int threads);

// Calls body(i, thread) for each i in [0, n), thread in [0, MaxThreads()). Which thread takes which i is not
// fixed, so results may not depend on it. Not nested: inside another ParallelFor it runs serially.
void ParallelFor(int64_t n, absl::FunctionRef<void(int64_t i, int thread)> body);

}  // namespace nextscale
