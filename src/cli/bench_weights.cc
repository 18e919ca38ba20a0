#include "cli/bench_weights.h"

#include <array>
#include <cmath>
#include <map>

namespace nextscale {
namespace {

// A prime length, so that rows of a matrix start at different places of the table.
constexpr int64_t kValues = 65521;

// Uniform in [-sqrt(3), sqrt(3)): variance 1.
std::vector<float> UnitValues() {
  std::vector<float> values(kValues);
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (float& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = (static_cast<float>(state >> 40) / 8388608.0f - 1.0f) * 1.7320508f;
  }
  return values;
}

class RandomSource : public TensorSource {
 public:
  RandomSource(std::vector<TensorInfo> tensors, std::string name)
      : name_(std::move(name)), values_(UnitValues()) {
    for (TensorInfo& t : tensors) tensors_.emplace(t.name, t);
  }

  const TensorInfo* Find(std::string_view name) const override {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? nullptr : &it->second;
  }
  std::vector<const TensorInfo*> List() const override {
    std::vector<const TensorInfo*> out;
    for (const auto& [name, info] : tensors_) out.push_back(&info);
    return out;
  }
  std::string Describe() const override { return name_; }

  Status ReadRows(const TensorInfo& tensor, int64_t begin, int64_t end, DType to, void* dst) const override {
    const int64_t row = tensor.shape[0] ? tensor.shape.elements() / tensor.shape[0] : 0;
    const Spread spread = SpreadOf(tensor);
    int64_t at =
        (begin * row + static_cast<int64_t>(std::hash<std::string>()(tensor.name) % kValues)) % kValues;
    for (int64_t i = 0; i < (end - begin) * row; ++i) {
      const float value = spread.mean + spread.deviation * values_[at];
      if (++at == kValues) at = 0;
      if (to == DType::kBF16) {
        static_cast<bf16_t*>(dst)[i] = bf16_t(value);
      } else {
        static_cast<float*>(dst)[i] = value;
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Spread {
    float mean, deviation;
  };
  static Spread SpreadOf(const TensorInfo& t) {
    const bool norm = t.shape.rank() == 1 && t.name.ends_with("weight");
    if (norm) return {1.0f, 0.05f};
    if (t.name.ends_with("scale_mul_1H11")) return {std::log(4.0f), 0.1f};
    if (t.shape.rank() < 2 || t.name.ends_with("ada_gss")) return {0.0f, 0.1f};
    const float fan_in = static_cast<float>(t.shape.elements() / t.shape[0]);
    return {0.0f, 1.0f / std::sqrt(fan_in)};
  }

  std::string name_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::vector<float> values_;
};

}  // namespace

std::shared_ptr<const TensorSource> RandomWeights(std::vector<TensorInfo> tensors, std::string name) {
  return std::make_shared<RandomSource>(std::move(tensors), std::move(name));
}

ModelFiles RandomModel(const ModelInfo& info, const std::string& name) {
  ModelFiles files;
  files.name = name + ", random weights";
  files.transformer = RandomWeights(TransformerTensors(*info.transformer), name + " transformer");
  files.vae = RandomWeights(VaeTensors(*info.vae), name + " VAE");
  files.text = RandomWeights(T5Tensors(*info.text), name + " text encoder");
  return files;
}

}  // namespace nextscale
