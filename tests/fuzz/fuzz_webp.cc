// WebP pictures and their EXIF.
#include "tests/fuzz/fuzz_pictures.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  nextscale::fuzz::ReadPicture("input.webp", data, size);
  return 0;
}
