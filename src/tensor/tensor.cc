#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

namespace nextscale {
namespace {

template <typename From>
void ToFloats(const void* from, float* to, int64_t n) {
  const From* p = static_cast<const From*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(p[i]);
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  NS_CHECK(dims.size() <= dims_.size(), "a shape of {} dimensions", dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int64_t d : dims()) n *= d;
  return n;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(dims_.begin(), dims_.begin() + rank_, other.dims_.begin());
}

std::string ToString(const Shape& shape) {
  std::string out = "[";
  for (int i = 0; i < shape.rank(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

void Tensor::FillZero() {
  if (!empty()) std::memset(buffer_.data(), 0, buffer_.size());
}

void ConvertFloats(const void* from, DType from_type, void* to, DType to_type, int64_t n) {
  NS_CHECK(IsFloat(from_type) && (to_type == DType::kF32 || to_type == DType::kBF16), "{} to {}", Name(from_type), Name(to_type));
  if (from_type == to_type) {
    std::memcpy(to, from, static_cast<size_t>(n) * SizeOf(to_type));
    return;
  }
  constexpr int64_t kBlock = 1024;
  float block[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    const void* p = static_cast<const std::byte*>(from) + at * static_cast<int64_t>(SizeOf(from_type));
    float* f = to_type == DType::kF32 ? static_cast<float*>(to) + at : block;
    switch (from_type) {
      case DType::kF32: std::memcpy(f, p, static_cast<size_t>(m) * 4); break;
      case DType::kBF16: ToFloats<bf16_t>(p, f, m); break;
      case DType::kF64: ToFloats<double>(p, f, m); break;
      default:
        for (int64_t i = 0; i < m; ++i) f[i] = HalfToFloat(static_cast<const uint16_t*>(p)[i]);
    }
    if (to_type == DType::kBF16) {
      for (int64_t i = 0; i < m; ++i) static_cast<bf16_t*>(to)[at + i] = bf16_t(f[i]);
    }
  }
}

}  // namespace nextscale
