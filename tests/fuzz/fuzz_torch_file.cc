// Torch's zip archives with their pickles.
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {"#torch", "#torch zip64", "c/transformer.pth"}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale::fuzz;
  OpenAndRead("", Write("model.pth", data, size));
  return 0;
}
