// The first tokens ("attention sinks") and the most recent ones (Xiao et al. 2024).
#pragma once

#include <memory>

#include "kv/policy.h"

namespace nextscale {

std::unique_ptr<KvPolicy> MakeStreamingLlm(int64_t sinks);

}  // namespace nextscale
