// One hook for whoever wants to see intermediate values: golden comparisons, calibration, previews, attention
// pictures.
#pragma once

#include <string_view>

#include "ops/attention.h"
#include "tensor/tensor.h"

namespace nextscale {

class TensorObserver {
 public:
  virtual ~TensorObserver() = default;
  // `name` as in the golden files: "cond", "stream0.text_rows", "scale03.input", "scale03.block00",
  // "scale03.logits", … The view is valid during the call only.
  virtual void See(std::string_view name, ConstView tensor) = 0;
  // Self-attention of a layer, just computed: its queries, the keys and values that were cached, and those of
  // the current map. Valid during the call only.
  virtual void SeeSelfAttention(int64_t scale, int64_t layer, const AttentionArgs& attention) {}
};

}  // namespace nextscale
