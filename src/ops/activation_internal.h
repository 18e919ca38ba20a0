// The implementations of activation.h, behind their checks.
#pragma once

#include "ops/activation.h"

namespace nextscale::activation {

enum class Function { kSilu, kGelu };

// y = f(gate) * x; without x (null data) y = f(gate).
struct Gated {
  Function function;
  ConstView gate, x;
  View y;
};
void GatedReference(const Gated& args);
void GatedFast(const Gated& args);

void AddRowReference(View x, const float* row);
void AddRowFast(View x, const float* row);
void AddInPlaceReference(View x, ConstView y);
void AddInPlaceFast(View x, ConstView y);
void MixInPlaceReference(View a, View b, float m);
void MixInPlaceFast(View a, View b, float m);
void CastReference(ConstView from, View to);
void CastFast(ConstView from, View to);

}  // namespace nextscale::activation
