#include "metrics/psnr.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace nextscale {

double Psnr(const Image& a, const Image& b) {
  NS_CHECK(a.width == b.width && a.height == b.height, "{}x{} against {}x{}", a.width, a.height, b.width,
           b.height);
  int64_t squares = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    const int64_t d = int64_t{a.rgb[i]} - b.rgb[i];
    squares += d * d;
  }
  if (squares == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.rgb.size()) / static_cast<double>(squares));
}

}  // namespace nextscale
