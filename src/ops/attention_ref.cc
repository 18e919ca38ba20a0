// Scalar twin of attention: o = softmax(scale * q k^T + bias) v, all in double, rounded once at the end.
#include <cmath>
#include <limits>
#include <vector>

#include "ops/attention.h"
#include "ops/attention_internal.h"

namespace nextscale::attention {
namespace {

// One query of one head. Rows of `keys` are D elements; `weights` has room for all keys.
template <typename T>
void AttendOne(const T* q, const Keys& keys, int64_t D, double scale, const float* bias, double* weights,
               T* o) {
  const int64_t S = keys.total();
  const auto row = [&](const void* const segments[2], int64_t s) {
    return s < keys.length[0] ? static_cast<const T*>(segments[0]) + s * D
                              : static_cast<const T*>(segments[1]) + (s - keys.length[0]) * D;
  };
  double max = -std::numeric_limits<double>::infinity();
  for (int64_t s = 0; s < S; ++s) {
    const T* k = row(keys.k, s);
    double dot = 0;
    for (int64_t d = 0; d < D; ++d) dot += static_cast<double>(float(q[d])) * float(k[d]);
    weights[s] = scale * dot + (bias ? bias[s] : 0.0f);
    max = std::max(max, weights[s]);
  }
  double sum = 0;
  for (int64_t s = 0; s < S; ++s) sum += weights[s] = std::exp(weights[s] - max);
  for (int64_t d = 0; d < D; ++d) {
    double value = 0;
    for (int64_t s = 0; s < S; ++s) value += weights[s] * float(row(keys.v, s)[d]);
    o[d] = T(static_cast<float>(S ? value / sum : 0.0));
  }
}

template <typename T>
void AttendAll(const AttentionArgs& a) {
  const int64_t C = a.H * a.D;
  for (int64_t bh = 0; bh < a.B * a.H; ++bh) {
    const int64_t b = bh / a.H, h = bh % a.H;
    const Keys keys = KeysOf(a, bh);
    const int64_t S = keys.total();
    std::vector<double> weights(S);
    for (int64_t l = 0; l < a.L; ++l) {
      const int64_t at = (b * a.L + l) * C + h * a.D;
      const float* bias = a.bias_HLS ? a.bias_HLS + (h * a.L + l) * S : nullptr;
      AttendOne(a.q.data<T>() + at, keys, a.D, a.scale, bias, weights.data(), a.o.data<T>() + at);
    }
  }
}

}  // namespace

void Reference(const AttentionArgs& args) {
  if (args.q.dtype() == DType::kBF16) {
    AttendAll<bf16_t>(args);
  } else {
    AttendAll<float>(args);
  }
}

}  // namespace nextscale::attention
