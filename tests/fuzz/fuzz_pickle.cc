// The pickle alone, without the archive around it.
#include <cstdlib>

#include "checkpoint/pickle.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() {
  return {"#pickle", "c/transformer.pth#data.pkl", "b/transformer.pth#data.pkl", "a/vae.pth#data.pkl"};
}
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto pickle = nextscale::Pickle::Parse({reinterpret_cast<const std::byte*>(data), size}, "input");
  if (!pickle.ok() && pickle.status().message().empty()) std::abort();
  if (pickle.ok()) pickle->root().Get("trainer");
  return 0;
}
