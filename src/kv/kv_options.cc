#include "kv/kv_options.h"

#include <fmt/format.h>

#include <array>

namespace nextscale {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "full", "sliding-window", "streaming-llm", "snapkv", "pyramidkv", "scalekv", "scalekv-reference"};
constexpr std::array<std::string_view, 3> kPoolings = {"average", "max", "none"};

}  // namespace

StatusOr<KvPolicyKind> ParseKvPolicy(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<KvPolicyKind>(i);
  }
  return CallError(fmt::format("unknown KV policy '{}'", name), "",
                   fmt::format("one of {}", fmt::join(kNames, ", ")));
}

std::string_view Name(KvPolicyKind policy) { return kNames[static_cast<size_t>(policy)]; }

StatusOr<Pooling> ParsePooling(std::string_view name) {
  for (size_t i = 0; i < kPoolings.size(); ++i) {
    if (kPoolings[i] == name) return static_cast<Pooling>(i);
  }
  return CallError(fmt::format("unknown pooling '{}'", name), "",
                   fmt::format("one of {}", fmt::join(kPoolings, ", ")));
}

std::string_view Name(Pooling pooling) { return kPoolings[static_cast<size_t>(pooling)]; }

}  // namespace nextscale
