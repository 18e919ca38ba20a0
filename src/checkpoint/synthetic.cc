// The distributions are those of oracle/make_golden.py's randomise(), with uniform numbers for normal ones:
// every number costs two multiplications of 32 bits, in loops that become vectors.
#include "checkpoint/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/check.h"

namespace nextscale {
namespace {

// Value = mean + deviation * r, r uniform with mean 0 and deviation 1.
struct Spread {
  double mean = 0, deviation = 1;
};

bool Ends(std::string_view name, std::string_view end) { return name.ends_with(end); }

Spread SpreadOf(const TensorInfo& t, int64_t t5_head_dim) {
  const std::string_view name = t.name;
  const int64_t rows = t.shape.rank() ? t.shape[0] : 1;
  const double fan_in =
      static_cast<double>(std::max<int64_t>(1, t.shape.elements() / std::max<int64_t>(1, rows)));
  const double by_fan = 1 / std::sqrt(fan_in);
  const bool vector = t.shape.rank() <= 1;
  if (Ends(name, "scale_mul_1H11")) return {std::log(6.0), 0.5};
  if (Ends(name, "ada_gss")) return {0, 0.35};  // its gammas are moved by AddGammas
  if (Ends(name, "ca_gamma")) return {0.8, 0.3};
  if (Ends(name, "ca.mat_q") || name.find("relative_attention_bias") != name.npos) return {0, 1.5};
  if (name.starts_with("shared.") || name == "cfg_uncond") return {0, 0.8};
  if (name.find("lvl_embed") != name.npos || name == "pos_start") return {0, 0.6};
  if (Ends(name, "SelfAttention.q.weight"))
    return {0, 1.5 * by_fan / std::sqrt(static_cast<double>(t5_head_dim))};
  if (name == "head.weight") return {0, 0.8 * by_fan};
  if (name == "decoder.conv_out.conv.weight") return {0, 0.35 * by_fan};
  if (name == "word_embed.weight") return {0, 1.2};
  if (vector && Ends(name, "weight")) return {1, 0.25};
  if (vector) return {0, 0.3};
  return {0, 1.1 * by_fan};
}

uint64_t Mix(uint64_t x) {  // the finaliser of MurmurHash3
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}
uint64_t HashOf(std::string_view text, uint64_t seed) {
  uint64_t h = Mix(seed + 0x9e3779b97f4a7c15ULL);
  for (const char c : text) h = Mix(h ^ static_cast<unsigned char>(c));
  return h;
}

// Numbers first .. first + n - 1 of the row that `key` stands for.
void Fill(uint64_t key, int64_t first, float mean, float deviation, float* out, int64_t n) {
  const uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32) | 1u;
  const float step =
      deviation * static_cast<float>(2 * std::sqrt(3.0) / 4294967296.0);  // of a uniform number
  for (int64_t i = 0; i < n; ++i) {
    uint32_t x = (static_cast<uint32_t>(first + i) + low) * 0x9e3779b1u;
    x = (x ^ (x >> 15) ^ high) * 0x85ebca77u;
    x ^= x >> 13;
    out[i] = mean + step * static_cast<float>(static_cast<int32_t>(x));
  }
}

class SyntheticTensors : public TensorSource {
 public:
  SyntheticTensors(std::vector<TensorInfo> tensors, uint64_t seed) : seed_(seed) {
    for (TensorInfo& t : tensors) {
      NS_CHECK(t.dtype == DType::kF32 || t.dtype == DType::kBF16, "{} is {}", t.name,
               nextscale::Name(t.dtype));
      std::string name = t.name;
      NS_CHECK(tensors_.emplace(std::move(name), std::move(t)).second, "two tensors of one name");
    }
    const TensorInfo* bias = Find("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
    const TensorInfo* q = Find("encoder.block.0.layer.0.SelfAttention.q.weight");
    if (bias && q) t5_head_dim_ = std::max<int64_t>(1, q->shape[0] / bias->shape[1]);
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
  std::string Describe() const override { return "random weights"; }

  Status ReadRows(const TensorInfo& t, int64_t begin, int64_t end, DType to, void* dst) const override {
    const int64_t rows = t.shape.rank() ? t.shape[0] : 1, row = rows ? t.shape.elements() / rows : 0;
    NS_CHECK(begin >= 0 && begin <= end && end <= rows, "rows {} to {} of {}", begin, end, rows);
    NS_CHECK(to == DType::kF32 || to == DType::kBF16, "random weights as {}", nextscale::Name(to));
    const Spread spread = SpreadOf(t, t5_head_dim_);
    const uint64_t name_key = HashOf(t.name, seed_);
    std::byte* out = static_cast<std::byte*>(dst);
    std::array<float, 2048> block;
    for (int64_t r = begin; r < end; ++r) {
      const uint64_t key = Mix(name_key ^ static_cast<uint64_t>(r));
      for (int64_t at = 0; at < row; at += static_cast<int64_t>(block.size())) {
        const int64_t n = std::min(static_cast<int64_t>(block.size()), row - at);
        Fill(key, at, static_cast<float>(spread.mean), static_cast<float>(spread.deviation), block.data(), n);
        if (Ends(t.name, "ada_gss")) AddGammas(t, at, block.data(), n);
        Emit(t.dtype, to, block.data(), n, out);
        out += n * static_cast<int64_t>(SizeOf(to));
      }
    }
    return absl::OkStatus();
  }

 private:
  // ada_gss is [1, 1, 6, C]: the first two of the six, gamma1 and gamma2, are about 0.5.
  static void AddGammas(const TensorInfo& t, int64_t at, float* values, int64_t n) {
    const int64_t gammas = 2 * t.shape[-1];
    for (int64_t i = 0; i < n && at + i < gammas; ++i) values[i] += 0.5f;
  }
  static void Emit(DType stored, DType to, const float* values, int64_t n, std::byte* out) {
    if (stored == DType::kBF16 && to == DType::kF32) {  // as if it had been stored
      std::array<bf16_t, 2048> rounded;
      ConvertFloats(values, DType::kF32, rounded.data(), DType::kBF16, n);
      ConvertFloats(rounded.data(), DType::kBF16, out, to, n);
    } else {
      ConvertFloats(values, DType::kF32, out, to, n);
    }
  }

  uint64_t seed_;
  int64_t t5_head_dim_ = 64;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
};

}  // namespace

std::shared_ptr<const TensorSource> MakeSyntheticTensors(std::vector<TensorInfo> tensors, uint64_t seed) {
  return std::make_shared<SyntheticTensors>(std::move(tensors), seed);
}

}  // namespace nextscale
