#include "kv/kv_options.h"

#include <fmt/format.h>

#include <array>

namespace nextscale {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "full", "sliding-window", "streaming-llm", "snapkv", "pyramidkv", "scalekv", "scalekv-reference"};

}  // namespace

StatusOr<KvPolicyKind> ParseKvPolicy(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<KvPolicyKind>(i);
  }
  return CallError(fmt::format("unknown KV policy '{}'", name), "",
                   fmt::format("one of {}", fmt::join(kNames, ", ")));
}

std::string_view Name(KvPolicyKind policy) { return kNames[static_cast<size_t>(policy)]; }

}  // namespace nextscale
