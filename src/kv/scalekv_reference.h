// What the public ScaleKV code does, for comparison only (scalekv.md, "Where the public code differs from the
// paper"): raw queries, their logits summed, max pooling over everything but the window, map sizes of the
// square 1M schedule whatever the real ones are.
#pragma once

#include <memory>

#include "kv/policy.h"

namespace nextscale {

std::unique_ptr<KvPolicy> MakeScaleKvReference(int64_t window);

}  // namespace nextscale
