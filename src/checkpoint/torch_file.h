// A file written by torch.save (zip form): a state dict, maybe nested as training checkpoints nest it.
#pragma once

#include <string>

#include "checkpoint/stored_tensors.h"

namespace nextscale {

// The state dict at `trainer`.`gpt_fsdp`, `vae`, `ema`, or the root. Errors: CallError if the file can't be
// opened; FileError.
StatusOr<StoredFile> ReadTorchFile(const std::string& path);

}  // namespace nextscale
