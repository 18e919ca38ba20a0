#include "cli/kept_tokens.h"

namespace nextscale {
namespace {

constexpr double kDarkest = 0.2;  // of a token that no branch ran

}  // namespace

void KeptTokens::Begin(MapSize map) {
  map_ = map;
  branches_ = 0;
  counts_.clear();
}

void KeptTokens::See(std::string_view name, ConstView tensor) {
  if (!name.ends_with(".at")) return;
  ++branches_;
  counts_.resize(tensor.dim(0), std::vector<int32_t>(map_.tokens()));
  for (int64_t stream = 0; stream < tensor.dim(0); ++stream) {
    const int32_t* at = tensor.data<int32_t>() + stream * tensor.dim(1);
    for (int64_t i = 0; i < tensor.dim(1); ++i) ++counts_[stream][at[i]];
  }
}

Image KeptTokens::Draw(Image picture, int64_t stream) const {
  NS_CHECK(!empty() && stream < static_cast<int64_t>(counts_.size()), "stream {} of {}", stream,
           counts_.size());
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const int64_t token = y * map_.h / picture.height * map_.w + x * map_.w / picture.width;
      const double share = static_cast<double>(counts_[stream][token]) / static_cast<double>(branches_);
      for (int64_t c = 0; c < 3; ++c) {
        uint8_t& value = picture.rgb[(y * picture.width + x) * 3 + c];
        value = static_cast<uint8_t>(value * (kDarkest + (1 - kDarkest) * share) + 0.5);
      }
    }
  }
  return picture;
}

}  // namespace nextscale
