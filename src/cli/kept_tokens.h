// Which tokens FastVAR kept at a scale, drawn over the picture (generate --preview --kept).
#pragma once

#include <string_view>
#include <vector>

#include "metrics/image_io.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

// Counts, over the pruned layers' branches of one scale, how many ran each token.
class KeptTokens {
 public:
  // Begins a scale.
  void Begin(MapSize map);
  // Takes what the engine's observer is shown; looks at "scaleNN.layerNN.BRANCH.at" only.
  void See(std::string_view name, ConstView tensor);
  bool empty() const { return branches_ == 0; }

  // The picture of this stream, each token's place as bright as the share of branches that ran it.
  Image Draw(Image picture, int64_t stream) const;

 private:
  MapSize map_;
  int64_t branches_ = 0;
  std::vector<std::vector<int32_t>> counts_;  // [stream][token]
};

}  // namespace nextscale
