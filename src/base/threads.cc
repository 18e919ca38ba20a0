#include "base/threads.h"

#include <omp.h>

#include <algorithm>

namespace nextscale {

int MaxThreads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void SetMaxThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

void ParallelFor(int64_t n, absl::FunctionRef<void(int64_t, int)> body) {
  if (n <= 0) return;
  if (n == 1 || MaxThreads() == 1) {
    // A region of one thread is not active, so what runs inside would start threads of its own: the setting
    // holds for this region only.
#pragma omp parallel num_threads(1)
    {
      omp_set_num_threads(1);
      for (int64_t i = 0; i < n; ++i) body(i, 0);
    }
    return;
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t i = 0; i < n; ++i) body(i, omp_get_thread_num());
}

}  // namespace nextscale
