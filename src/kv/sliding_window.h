// The most recent tokens.
#pragma once

#include <memory>

#include "kv/policy.h"

namespace nextscale {

std::unique_ptr<KvPolicy> MakeSlidingWindow();

}  // namespace nextscale
