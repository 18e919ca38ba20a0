// The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes.
#pragma once

#include <string>

#include "checkpoint/stored_tensors.h"

namespace nextscale {

// One file. Errors: CallError if it can't be opened; FileError naming file, tensor and what is wrong.
StatusOr<StoredFile> ReadSafetensors(const std::string& path);
}  // namespace nextscale
