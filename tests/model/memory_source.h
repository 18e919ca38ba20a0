// A TensorSource of float tensors in memory, for tests: random models, and copies of files with something
// changed.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/tensor_source.h"

namespace nextscale {

class MemorySource : public TensorSource {
 public:
  MemorySource() = default;
  // A copy, in f32.
  explicit MemorySource(const TensorSource& source) {
    for (const TensorInfo* info : source.List()) {
      const Tensor tensor = ReadTensor(source, info->name, info->shape, DType::kF32, {}).value();
      Set(info->name, info->shape, {tensor.data<float>(), tensor.data<float>() + tensor.elements()});
    }
  }

  void Set(const std::string& name, Shape shape, std::vector<float> values) {
    NS_CHECK_EQ(shape.elements(), static_cast<int64_t>(values.size()));
    tensors_[name] = {{name, DType::kF32, shape}, std::move(values)};
  }
  void Remove(const std::string& name) { tensors_.erase(name); }
  float& At(const std::string& name, size_t i) { return tensors_.at(name).values.at(i); }

  const TensorInfo* Find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.info;
  }
  std::vector<const TensorInfo*> List() const override {
    std::vector<const TensorInfo*> all;
    for (const auto& [name, stored] : tensors_) all.push_back(&stored.info);
    return all;
  }
  Status ReadRows(const TensorInfo& tensor, int64_t begin, int64_t end, DType to, void* dst) const override {
    const Stored& stored = tensors_.find(tensor.name)->second;
    const int64_t row = static_cast<int64_t>(stored.values.size()) / tensor.shape[0];
    ConvertFloats(stored.values.data() + begin * row, DType::kF32, dst, to, (end - begin) * row);
    return absl::OkStatus();
  }
  std::string Describe() const override { return "memory"; }

 private:
  struct Stored {
    TensorInfo info;
    std::vector<float> values;
  };
  std::map<std::string, Stored, std::less<>> tensors_;
};

}  // namespace nextscale
