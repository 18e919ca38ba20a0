// The implementations of resample.h, behind their checks.
#pragma once

#include <vector>

#include "ops/resample.h"

namespace nextscale::resample {

// At least a vector's length in every instruction set.
inline constexpr int64_t kAxisPadding = 16;

// What each output of an axis reads: weight_low * in[low] + weight_high * in[high].
// kAxisPadding more entries follow, which read in[0].
struct BilinearAxis {
  std::vector<int32_t> low, high;
  std::vector<float> weight_low, weight_high;
};
BilinearAxis MakeBilinearAxis(int64_t in, int64_t out);

void BilinearReference(ConstView from, View to);
void BilinearFast(ConstView from, View to, const OpContext& ctx);
// Channels [begin, end) of ResizeArea.
void AreaReference(ConstView from, View to, int64_t begin, int64_t end);

}  // namespace nextscale::resample
