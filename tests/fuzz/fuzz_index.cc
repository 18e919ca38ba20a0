// The index json of a sharded model, beside one true shard.
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {"d/transformer/model.safetensors.index.json"}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale::fuzz;
  static const char kHeader[] =
      R"(@.......{"word_embed.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  static const bool once = [] {
    std::string shard(kHeader);
    const uint64_t length = shard.size() - 8;
    for (int i = 0; i < 8; ++i) shard[i] = static_cast<char>(length >> (8 * i));
    shard += "1234";
    for (const char* name : {"s", "model-00001-of-00003.safetensors"})
      Write(name, reinterpret_cast<const uint8_t*>(shard.data()), shard.size());
    return true;
  }();
  static_cast<void>(once);
  OpenAndRead(Write("model.safetensors.index.json", data, size), "");
  return 0;
}
