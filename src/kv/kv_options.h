// Which cache policy a run uses.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"

namespace nextscale {

enum class KvPolicyKind {
  kFull,
  kSlidingWindow,
  kStreamingLlm,
  kSnapKv,
  kPyramidKv,
  kScaleKv,
  kScaleKvReference
};

struct KvOptions {
  KvPolicyKind policy = KvPolicyKind::kFull;
};

// "full", "sliding-window", ... Errors: CallError that lists the names.
StatusOr<KvPolicyKind> ParseKvPolicy(std::string_view name);
std::string_view Name(KvPolicyKind policy);

}  // namespace nextscale
