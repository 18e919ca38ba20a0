// The JSON header of a safetensors file, read event by event: memory grows with the tensors it names and with
// nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace nextscale {

struct SafetensorsEntry {
  std::string name, dtype;
  std::vector<int64_t> shape;  // at most 6 dimensions
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::string metadata;                   // `__metadata__`.`nextscale`, or empty
};

// Errors: FileError that names `path` and the tensor, for JSON that isn't a header, for two tensors of one
// name, and for bytes that overlap, leave gaps or don't end at `data_bytes`.
StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, uint64_t data_bytes,
                                                   const std::string& path);

}  // namespace nextscale
