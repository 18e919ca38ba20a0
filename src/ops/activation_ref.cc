// The definition of the elementwise ops; functions in f64, sums in f32.
#include "ops/activation_internal.h"
#include "ops/elements.h"

namespace nextscale::activation {

void GatedReference(const Gated& args) {
  for (int64_t i = 0; i < args.y.elements(); ++i) {
    const double z = Get(args.gate, i), x = args.x.raw() ? Get(args.x, i) : 1.0;
    Put(args.y, i, static_cast<float>((args.function == Function::kSilu ? Silu(z) : GeluTanh(z)) * x));
  }
}

void AddRowReference(View x, const float* row) {
  float* p = x.data<float>();
  for (int64_t i = 0; i < x.elements(); ++i) p[i] += row[i % x.dim(1)];
}

void AddInPlaceReference(View x, ConstView y) {
  for (int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] += y.data<float>()[i];
}

void MixInPlaceReference(View a, View b, float m) {
  float* pa = a.data<float>();
  float* pb = b.data<float>();
  for (int64_t i = 0; i < a.elements(); ++i) pa[i] = pb[i] = m * pa[i] + (1.0f - m) * pb[i];
}

void CastReference(ConstView from, View to) {
  for (int64_t i = 0; i < to.elements(); ++i) Put(to, i, Get(from, i));
}

}  // namespace nextscale::activation
