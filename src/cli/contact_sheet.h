// Several pictures in one.
#pragma once

#include <vector>

#include "metrics/image_io.h"

namespace nextscale {

// In rows, as square as it goes, each in a cell of the largest picture's size, on white. At least one
// picture.
Image ContactSheet(const std::vector<Image>& pictures);

}  // namespace nextscale
