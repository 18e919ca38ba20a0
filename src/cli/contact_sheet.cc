#include "cli/contact_sheet.h"

#include <algorithm>
#include <cmath>

namespace nextscale {
namespace {

constexpr int64_t kGap = 8;  // pixels

}  // namespace

Image ContactSheet(const std::vector<Image>& pictures) {
  const int64_t n = static_cast<int64_t>(pictures.size());
  const int64_t columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(n)))),
                rows = (n + columns - 1) / columns;
  int64_t width = 0, height = 0;
  for (const Image& p : pictures) {
    width = std::max(width, p.width);
    height = std::max(height, p.height);
  }
  Image sheet{.width = columns * (width + kGap) + kGap, .height = rows * (height + kGap) + kGap};
  sheet.rgb.assign(3 * sheet.width * sheet.height, 255);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t left = kGap + i % columns * (width + kGap), top = kGap + i / columns * (height + kGap);
    for (int64_t y = 0; y < pictures[i].height; ++y) {
      std::copy_n(pictures[i].rgb.begin() + y * pictures[i].width * 3, pictures[i].width * 3,
                  sheet.rgb.begin() + ((top + y) * sheet.width + left) * 3);
    }
  }
  return sheet;
}

}  // namespace nextscale
