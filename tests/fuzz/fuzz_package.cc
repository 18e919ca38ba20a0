// A package's metadata: the input is the JSON under `__metadata__`.`nextscale`.
#include <cstdio>

#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {"#package"}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale::fuzz;
  std::string header = R"({"__metadata__":{"nextscale":")";
  for (size_t i = 0; i < size; ++i) {
    const unsigned char c = data[i];
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
    header += c < 0x20 || c == '"' || c == '\\' ? std::string(escaped) : std::string(1, static_cast<char>(c));
  }
  header += R"("},"transformer.word_embed.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  file += header + "1234";
  OpenAndRead("", Write("package.safetensors", reinterpret_cast<const uint8_t*>(file.data()), file.size()));
  return 0;
}
