// Tensors as they lie in mapped files, and a TensorSource over them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "checkpoint/tensor_source.h"

namespace nextscale {

struct StoredTensor {
  TensorInfo info;
  std::shared_ptr<const MappedFile> file;
  std::span<const std::byte> bytes;  // from the first element to the last
  std::vector<int64_t> strides;      // in elements; empty: dense
};

// What a reader finds in a file or in a folder of shards: names as stored.
struct StoredFile {
  std::string path;
  std::vector<StoredTensor> tensors;
  std::vector<std::string> unreadable;  // names of tensors of complex and quantized types
  std::string metadata;                 // safetensors: `__metadata__`.`nextscale`, or empty
};

class StoredTensors : public TensorSource {
 public:
  // Errors: FileError for two tensors of one name.
  static StatusOr<std::shared_ptr<const StoredTensors>> Create(std::string where,
                                                               std::vector<StoredTensor> tensors);

  const TensorInfo* Find(std::string_view name) const override;
  std::vector<const TensorInfo*> List() const override;
  Status ReadRows(const TensorInfo& tensor, int64_t begin, int64_t end, DType to, void* dst) const override;
  std::string Describe() const override { return where_; }

 private:
  std::string where_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

// Bytes of `shape`, or an error if that overflows or is negative. For readers.
StatusOr<int64_t> CheckedBytes(std::span<const int64_t> dims, DType dtype, const std::string& what);

}  // namespace nextscale
