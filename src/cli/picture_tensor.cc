#include "cli/picture_tensor.h"

#include <algorithm>
#include <cmath>

#include "ops/resample.h"

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

Image ResizePicture(const Image& picture, MapSize size, PictureResize how, const OpContext& ops) {
  const MemoryUse use{ops.ledger, Account::kActivations};
  const Tensor from = PictureToTensor(picture, use);
  Tensor to(DType::kF32, {3, size.h, size.w}, use);
  if (how == PictureResize::kArea) {
    ResizeArea(from.view(), to.view(), ops);
  } else {
    ResizeBilinear(from.view(), to.view(), ops);
  }
  Image out{.width = size.w, .height = size.h, .rgb = std::vector<uint8_t>(3 * size.tokens())};
  for (int64_t i = 0; i < size.tokens(); ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const float unit = (to.data<float>()[c * size.tokens() + i] + 1.0f) / 2.0f;
      out.rgb[3 * i + c] = static_cast<uint8_t>(std::lround(255.0f * std::clamp(unit, 0.0f, 1.0f)));
    }
  }
  return out;
}

}  // namespace nextscale
