// The definition of the row normalisations: torch's layer_norm (biased variance) and T5's RMS norm, sums in
// f64.
#include <cmath>

#include "ops/elements.h"
#include "ops/norm_internal.h"

namespace nextscale::norm {

RowMoments MomentsOf(const float* row, int64_t C, double eps) {
  double sum = 0, squares = 0;
  for (int64_t c = 0; c < C; ++c) sum += row[c];
  const double mean = sum / static_cast<double>(C);
  for (int64_t c = 0; c < C; ++c) squares += (row[c] - mean) * (row[c] - mean);
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(C) + eps),
          std::isfinite(static_cast<float>(squares))};
}

bool LayerNormReference(const LayerNormArgs& args) {
  const int64_t C = args.x.dim(1);
  bool finite = true;
  for (int64_t r = 0; r < args.y.dim(0); ++r) {
    const float* row = args.x.data<float>() + RowOf(args.rows, r) * C;
    const RowMoments m = MomentsOf(row, C, args.eps);
    finite = finite && m.finite;
    for (int64_t c = 0; c < C; ++c)
      Put(args.y, r * C + c,
          static_cast<float>((row[c] - m.mean) * m.inverse * args.weight[c] + args.bias[c]));
  }
  return finite;
}

bool RmsNormReference(ConstView x, View y, const float* weight, float eps) {
  const int64_t C = x.dim(1);
  bool finite = true;
  for (int64_t r = 0; r < x.dim(0); ++r) {
    const float* row = x.data<float>() + r * C;
    double squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += static_cast<double>(row[c]) * row[c];
    finite = finite && std::isfinite(static_cast<float>(squares));
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(C) + eps);
    for (int64_t c = 0; c < C; ++c) Put(y, r * C + c, static_cast<float>(row[c] * inverse * weight[c]));
  }
  return finite;
}

}  // namespace nextscale::norm
