// Which cache policy: the flags that `generate`, `eval` and `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kv/kv_options.h"

namespace nextscale {

// As given; a JSON line's values replace them one by one.
struct KvFlags {
  std::string policy = "full", budget, plan, type, options;
  bool operator==(const KvFlags&) const = default;
};

void AddKvFlags(CLI::App& command, KvFlags& flags);

// All but the plan, which KvPlans finds. Errors: CallError naming the flag.
StatusOr<KvOptions> ParseKvFlags(const KvFlags& flags);

}  // namespace nextscale
