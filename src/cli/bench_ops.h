// The transformer's heavy ops by themselves, at the shapes that a model's scales give them.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_run.h"

namespace nextscale {

struct OpTime {
  std::string op;  // "qkv", "proj", "fc1", "fc2", "attention"
  MapSize map;
  std::string shape;   // "8192 x 2048 -> 6144"
  double seconds = 0;  // the median of several calls
  double flop = 0;
};

// One row an op and scale. Errors: Interrupted.
StatusOr<std::vector<OpTime>> TimeOps(const TransformerConfig& config, const BenchSettings& settings,
                                      const CancelToken* cancel);

}  // namespace nextscale
