// A T5 folder's config.json, beside weights and a tokenizer that are none.
#include <cstdlib>

#include "checkpoint/model_files.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {"t5-a/config.json"}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale::fuzz;
  static const std::string weights =
      R"({"encoder.block.0.layer.0.layer_norm.weight":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  static const bool once = [] {
    std::string file(8, '\0');
    file[0] = static_cast<char>(weights.size());
    file += weights;
    Write("model.safetensors", reinterpret_cast<const uint8_t*>(file.data()), file.size());
    Write("spiece.model", nullptr, 0);
    return true;
  }();
  static_cast<void>(once);
  Write("config.json", data, size);
  const auto files = nextscale::OpenModel({.text_encoder = Folder()});
  if (!files.ok() && files.status().message().empty()) std::abort();
  return 0;
}
