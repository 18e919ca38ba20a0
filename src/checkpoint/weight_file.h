// Reads the weights at a path, whatever form they have.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/stored_tensors.h"

namespace nextscale {

// A torch or safetensors file, an index json with its shards beside it, or a folder that holds one of these.
// Errors: CallError if there is no such file; FileError naming file and tensor.
StatusOr<StoredFile> ReadWeights(const std::string& path);

// Paths in a folder, sorted. Errors: CallError if it can't be listed.
StatusOr<std::vector<std::string>> ListFolder(const std::string& folder);

// By its ending.
bool IsWeightFile(const std::string& path);

}  // namespace nextscale
