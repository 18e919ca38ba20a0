// The implementations of norm.h and ada_norm.h, behind their checks.
#pragma once

#include "ops/ada_norm.h"
#include "ops/norm.h"

namespace nextscale::norm {

bool LayerNormReference(ConstView x, View y, const float* weight, const float* bias, float eps);
bool LayerNormFast(ConstView x, View y, const float* weight, const float* bias, float eps);
bool RmsNormReference(ConstView x, View y, const float* weight, float eps);
bool RmsNormFast(ConstView x, View y, const float* weight, float eps);
bool AdaNormReference(const AdaNormArgs& args);
bool AdaNormFast(const AdaNormArgs& args);

}  // namespace nextscale::norm
