// One safetensors file: a part of a model, or a package.
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() {
  return {"#safetensors", "d/transformer/model-00003-of-00003.safetensors", "t5-b/model.safetensors"};
}
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale::fuzz;
  OpenAndRead("", Write("model.safetensors", data, size));
  return 0;
}
