// One hook for whoever wants to see intermediate values: golden comparisons, calibration, previews.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace nextscale {

class TensorObserver {
 public:
  virtual ~TensorObserver() = default;
  // `name` as in the golden files: "cond", "stream0.text_rows", "scale03.input", "scale03.block00",
  // "scale03.logits", … The view is valid during the call only.
  virtual void See(std::string_view name, ConstView tensor) = 0;
};

}  // namespace nextscale
