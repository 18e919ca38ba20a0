// Makes broken files out of good ones, in the current folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bad_input.h"

namespace nextscale {

std::string ReadBytes(const std::string& path);
void WriteBytes(const std::string& path, const std::string& bytes);

// Offsets and lengths below 0 count from the file's end.
Make Text(const std::string& to, const std::string& bytes);
Make Copy(const std::string& from, const std::string& to);  // a file, or a folder with what is in it
Make Cut(const std::string& from, const std::string& to, int64_t length);
Make FlipBit(const std::string& from, const std::string& to, int64_t byte, int bit);
// Replaces the first `old_text`, which must be there.
Make Swap(const std::string& from, const std::string& to, const std::string& old_text,
          const std::string& new_text);
Make Remove(const std::string& path);
Make All(std::vector<Make> steps);

// A safetensors file taken apart.
struct LooseTensors {
  nlohmann::ordered_json header;
  std::string body;

  float* Values(const std::string& tensor);  // of an f32 tensor
  // Under a name that no model has: the tensor is missing, the file stays whole.
  void Hide(const std::string& tensor);
};
Make Edit(const std::string& from, const std::string& to, std::function<void(LooseTensors&)> edit);

// A zip file of stored members, as torch writes them.
std::string Zip(const std::vector<std::pair<std::string, std::string>>& members);
// A .pth file whose pickle is `opcodes`.
Make PickleFile(const std::string& to, const std::string& opcodes);

}  // namespace nextscale
