// The definition of the restoration (oracle/var_policies.py, PrunedLayer: interpolate(mode="area"), scatter).
#include "ops/elements.h"
#include "ops/restore_internal.h"

namespace nextscale::restore {
namespace {

double AreaMean(const RestoreArgs& a, int64_t row, int64_t c) {
  const int64_t n = a.map.tokens(), stream = row / n, place = row % n;
  const Span ys = AreaSpan(place / a.map.w, a.source.h, a.map.h);
  const Span xs = AreaSpan(place % a.map.w, a.source.w, a.map.w);
  double sum = 0;
  for (int64_t y = ys.begin; y < ys.end; ++y) {
    for (int64_t x = xs.begin; x < xs.end; ++x)
      sum += Get(a.stored, (stream * a.source.tokens() + y * a.source.w + x) * a.x.dim(1) + c);
  }
  return sum / static_cast<double>((ys.end - ys.begin) * (xs.end - xs.begin));
}

}  // namespace

void Reference(const RestoreArgs& a) {
  const int64_t C = a.x.dim(1);
  float* x = a.x.data<float>();
  size_t next = 0;
  for (int64_t row = 0; row < a.x.dim(0); ++row) {
    const bool ran = next < a.rows.size() && a.rows[next] == row;
    for (int64_t c = 0; c < C; ++c)
      x[row * C + c] +=
          ran ? Get(a.fresh, static_cast<int64_t>(next) * C + c) : static_cast<float>(AreaMean(a, row, c));
    next += ran;
  }
}

}  // namespace nextscale::restore
