// The definition of a linear layer: dot products in f64, one after the other.
#include <cmath>

#include "ops/elements.h"
#include "ops/matmul_internal.h"

namespace nextscale::matmul {
namespace {

double Activate(double z, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return z;
    case Activation::kGeluTanh:
      return GeluTanh(z);
    case Activation::kSilu:
      return Silu(z);
  }
  return z;
}

}  // namespace

Status PackReference(int64_t N, int64_t K, DType dtype, const RowReader& read, std::byte* packed) {
  return read(0, N, dtype, packed);
}

void LinearReference(const LinearWeights& weights, const LinearArgs& args) {
  const int64_t rows = args.x.dim(0), N = weights.N(), K = weights.K();
  const ConstView W(weights.packed().view().raw(), weights.dtype(), {N, K});
  for (int64_t r = 0; r < rows; ++r) {
    const float* gate = args.gate_BN ? args.gate_BN + r / args.rows_per_stream * args.gate_stride : nullptr;
    for (int64_t n = 0; n < N; ++n) {
      double sum = weights.bias() ? weights.bias()[n] : 0.0;
      for (int64_t k = 0; k < K; ++k) sum += static_cast<double>(Get(args.x, r * K + k)) * Get(W, n * K + k);
      double value = Activate(sum, args.activation) * (gate ? gate[n] : 1.0f);
      if (args.accumulate) value += Get(args.y, r * N + n);
      Put(args.y, r * N + n, static_cast<float>(value));
    }
  }
}

}  // namespace nextscale::matmul
