#include "checkpoint/tensor_source.h"

#include <fmt/format.h>

namespace nextscale {
namespace {

bool Fits(const Shape& expected, const Shape& found) {
  if (expected.rank() != found.rank()) return false;
  for (int i = 0; i < expected.rank(); ++i) {
    if (expected[i] != -1 && expected[i] != found[i]) return false;
  }
  return true;
}

std::string Expected(const Shape& shape) {
  std::string text = ToString(shape);
  for (size_t at; (at = text.find("-1")) != std::string::npos;) text.replace(at, 2, "any");
  return text;
}

}  // namespace

StatusOr<const TensorInfo*> FindTensor(const TensorSource& source, std::string_view name,
                                       const Shape& shape) {
  const TensorInfo* info = source.Find(name);
  if (!info) {
    return FileError(fmt::format("{}: tensor {} is missing", source.Describe(), name),
                     fmt::format("expected shape {}", Expected(shape)),
                     "check that the file is whole and of the right model");
  }
  if (!Fits(shape, info->shape)) {
    return FileError(
        fmt::format("{}: tensor {} has shape {}", source.Describe(), name, ToString(info->shape)),
        fmt::format("expected {}", Expected(shape)), "check that the file is of the right model");
  }
  return info;
}

StatusOr<Tensor> ReadTensor(const TensorSource& source, std::string_view name, const Shape& shape, DType to,
                            MemoryUse use) {
  NS_ASSIGN_OR_RETURN(const TensorInfo* info, FindTensor(source, name, shape));
  Tensor tensor(to, info->shape, use);
  const int64_t rows = info->shape.rank() == 0 ? 1 : info->shape[0];
  NS_RETURN_IF_ERROR(source.ReadRows(*info, 0, rows, to, tensor.view().raw()));
  return tensor;
}

}  // namespace nextscale
