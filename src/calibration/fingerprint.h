// Which model a plan belongs to, whatever file its weights lie in.
#pragma once

#include <string>

#include "checkpoint/tensor_source.h"

namespace nextscale {

// SHA-256, as 64 hexadecimal digits, over the transformer's tensors in ascending order of canonical name: the
// name and a newline, the dimensions with commas between and a newline, then 64 evenly spaced values (number
// floor(i * n / 64) of n, row-major) rounded to bf16, low byte first. So it is the same for the published
// file and for packages in f32 and bf16. Errors: of reading.
StatusOr<std::string> ModelFingerprint(const TensorSource& transformer);

}  // namespace nextscale
