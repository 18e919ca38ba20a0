#include "cli/picture_tensor.h"

namespace nextscale {

Tensor PictureToTensor(const Image& picture, MemoryUse use) {
  const int64_t pixels = picture.height * picture.width;
  Tensor out(DType::kF32, {3, picture.height, picture.width}, use);
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      out.data<float>()[c * pixels + i] = static_cast<float>(picture.rgb[3 * i + c]) / 255.0f * 2.0f - 1.0f;
    }
  }
  return out;
}

}  // namespace nextscale
