// The implementations of sample.h, behind their checks: tokens [begin, end) each.
#pragma once

#include "ops/sample.h"

namespace nextscale::sample {

void GuideElements(ConstView cond, ConstView uncond, float cfg, float tau, View out, int64_t begin,
                   int64_t end);
void PhiloxTokens(const SampleArgs& args, int64_t begin, int64_t end);

struct ExponentialArgs {
  ConstView logits, draws;
  double top_p;
  int top_k;
  View bits;
};
void ExponentialTokens(const ExponentialArgs& args, int64_t begin, int64_t end);

}  // namespace nextscale::sample
