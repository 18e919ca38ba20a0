// What this machine's matrix instructions reach: the yardstick that benches print their rates against.
#pragma once

#include "tensor/dtype.h"

namespace nextscale {

struct MatrixRate {
  double median = 0, best = 0;  // GFLOP/s
};
struct MachinePeak {
  MatrixRate f32, bf16;
  // What linear layers with weights of this type are measured against.
  const MatrixRate& of(DType dtype) const { return dtype == DType::kBF16 ? bf16 : f32; }
};

// oneDNN products of 2048^3 of that type (bf16: only where HasFastBf16) on all threads, weights packed
// before, `repetitions` timed runs. Rates move from minute to minute on shared machines: measure beside what
// is compared.
MatrixRate MeasureMatrixRate(DType operand, int repetitions);

// Both types. A machine without fast bf16 multiplies bf16 weights in f32: its bf16 rate is that of f32.
MachinePeak MeasureMachinePeak(int repetitions);

}  // namespace nextscale
