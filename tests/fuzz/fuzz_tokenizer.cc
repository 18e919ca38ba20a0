// spiece.model, and prompts cut by it. The input ends with the prompt: its last byte is the prompt's length.
#include <algorithm>
#include <cstdlib>

#include "model/text/tokenizer.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {"t5-a/spiece.model"}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using nextscale::Tokenizer;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = Tokenizer::FromBytes(bytes, "spiece.model");
  if (!tokenizer.ok()) {
    if (tokenizer.status().message().empty()) std::abort();
    return 0;
  }
  constexpr int64_t kLimit = 64;
  const size_t length = size ? std::min<size_t>(data[size - 1], size) : 0;
  for (const std::string_view prompt : {std::string_view("Red apple, caf\u00c5 \u20ac 1\u00bd \U0001f600"),
                                        std::string_view(), bytes.substr(size - length)}) {
    const auto tokens = (*tokenizer)->Encode(prompt, kLimit);
    if (!tokens.ok()) {
      if (tokens.status().message().empty()) std::abort();
      continue;
    }
    const bool fits = std::all_of(tokens->ids.begin(), tokens->ids.end(),
                                  [&](int32_t id) { return id >= 0 && id < (*tokenizer)->vocabulary(); });
    if (!fits || tokens->ids.empty() || static_cast<int64_t>(tokens->ids.size()) > kLimit) std::abort();
  }
  return 0;
}
