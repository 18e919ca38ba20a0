// A file of bits.
#include <cstdlib>

#include "cli/bits_file.h"
#include "engine/codes.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale;
  const auto bits = ReadBitsFile(fuzz::Write("bits.safetensors", data, size));
  if (bits.ok() ? bits->empty() : bits.status().message().empty()) std::abort();
  if (!bits.ok()) return 0;
  for (const Tensor& t : *bits) {
    if (t.elements() == 0) std::abort();
    TokenBits(t.view(), false, {});
    if (t.dim(1) % 2 == 0 && t.dim(2) % 2 == 0) TokenBits(t.view(), true, {});
  }
  return 0;
}
