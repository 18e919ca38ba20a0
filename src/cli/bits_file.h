// Bits of a picture in a file: safetensors with a tensor a scale, scaleNN.bits u8 [1, d, h, w], at the
// latent's maps; a scale that pruning skipped has d = 0.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace nextscale {

// bits: u8 [d, h, w] a scale. Errors: WorkError.
Status WriteBitsFile(const std::string& path, const std::vector<Tensor>& bits_dhw);
// Errors: CallError if there is no such file; FileError naming the tensor: none for a scale, another type or
// shape, a value above 1.
StatusOr<std::vector<Tensor>> ReadBitsFile(const std::string& path);

}  // namespace nextscale
