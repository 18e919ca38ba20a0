// The size of a token map or latent.
#pragma once

#include <cstdint>

namespace nextscale {

struct MapSize {
  int64_t h = 0, w = 0;
  int64_t tokens() const { return h * w; }
  bool operator==(const MapSize&) const = default;
};

}  // namespace nextscale
