// An autoencoder of any size with random weights, as a source of tensors: for tests and benches that need no
// trained one.
#pragma once

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "model/vae/vae_layers.h"

namespace nextscale {

class RandomVae : public TensorSource {
 public:
  explicit RandomVae(const VaeConfig& config) {
    const auto add = [&](const ConvLayer& layer) { AddLayer(layer); };
    ForEachConv(DecoderLayers(config), add);
    ForEachConv(EncoderLayers(config), add);
  }

  const TensorInfo* Find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<const TensorInfo*> List() const override {
    std::vector<const TensorInfo*> all;
    for (const auto& [name, info] : tensors_) all.push_back(&info);
    return all;
  }
  Status ReadRows(const TensorInfo& tensor, int64_t begin, int64_t end, DType to, void* dst) const override {
    const int64_t row = tensor.shape.elements() / tensor.shape[0];
    const std::vector<float> values = Values(tensor);
    ConvertFloats(values.data() + begin * row, DType::kF32, dst, to, (end - begin) * row);
    return {};
  }
  std::string Describe() const override { return "random weights"; }

  void Erase(const std::string& name) { tensors_.erase(name); }
  void SetShape(const std::string& name, const Shape& shape) { tensors_[name].shape = shape; }
  // The tensor's first value becomes this.
  void Poison(const std::string& name, float value) { poison_[name] = value; }

 private:
  // Every convolution but the ends, the shortcuts and the resamplers has a norm before it.
  void AddLayer(const ConvLayer& layer) {
    const Conv2dShape& s = layer.shape;
    Add(layer.name + ".conv.weight", {s.out, s.in, s.kernel(), s.kernel()});
    Add(layer.name + ".conv.bias", {s.out});
    for (const auto& [conv, norm] : {std::pair(".conv1", ".norm1"), std::pair(".conv2", ".norm2"),
                                     std::pair(".conv_out", ".norm_out")}) {
      if (!layer.name.ends_with(conv)) continue;
      const std::string name = layer.name.substr(0, layer.name.size() - std::strlen(conv)) + norm;
      Add(name + ".norm.weight", {s.in});
      Add(name + ".norm.bias", {s.in});
    }
  }
  void Add(const std::string& name, const Shape& shape) { tensors_[name] = {name, DType::kF32, shape}; }

  // Kernels keep the size of what goes through them; the name is the seed.
  std::vector<float> Values(const TensorInfo& tensor) const {
    std::minstd_rand generator(std::hash<std::string>()(tensor.name));
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    const bool kernel = tensor.shape.rank() == 4;
    const float taps = static_cast<float>(tensor.shape.elements() / tensor.shape[0]);
    const float spread = kernel ? std::sqrt(3.0f / taps) : 0.2f;
    const float middle = tensor.name.ends_with(".norm.weight") ? 1.0f : 0.0f;
    std::vector<float> values(tensor.shape.elements());
    for (float& v : values) v = middle + spread * uniform(generator);
    if (const auto found = poison_.find(tensor.name); found != poison_.end()) values[0] = found->second;
    return values;
  }

  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::map<std::string, float> poison_;
};

}  // namespace nextscale
