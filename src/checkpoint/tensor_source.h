// Named tensors that can be read: one part of a model (transformer, VAE or text encoder) under its canonical
// names, wherever it comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace nextscale {

struct TensorInfo {
  std::string name;  // canonical, e.g. "blocks.3.sa.proj.weight", "encoder.block.0.layer.0.layer_norm.weight"
  DType dtype;       // as stored
  Shape shape;
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // Null if there is no such tensor. The pointer lives as long as the source.
  virtual const TensorInfo* Find(std::string_view name) const = 0;
  // All tensors, in ascending order of name.
  virtual std::vector<const TensorInfo*> List() const = 0;
  // Converts part [begin, end) of the outermost dimension to `to` (kF32 or kBF16; an integer tensor only to
  // its own type) and writes it, dense, to dst. Gives mapped pages back once read. Safe from several threads.
  virtual Status ReadRows(const TensorInfo& tensor, int64_t begin, int64_t end, DType to,
                          void* dst) const = 0;
  // Which file(s), for messages.
  virtual std::string Describe() const = 0;
};

// The whole tensor, with the shape it must have. Errors: FileError that names file, tensor, expected and
// found, if it is missing or misshapen.
StatusOr<Tensor> ReadTensor(const TensorSource& source, std::string_view name, const Shape& shape, DType to,
                            MemoryUse use);
// As above, for checks before a piecewise read. `shape` dims of -1 accept anything.
StatusOr<const TensorInfo*> FindTensor(const TensorSource& source, std::string_view name, const Shape& shape);

}  // namespace nextscale
