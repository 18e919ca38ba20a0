// Shapes, owned tensors and views. All are dense and row-major, outermost dimension first.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/memory.h"

namespace nextscale {

// Up to 6 dimensions.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i < 0 ? rank_ + i : i]; }  // -1 is the innermost
  int64_t elements() const;
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, 6> dims_{};
  int rank_ = 0;
};
std::string ToString(const Shape& shape);  // "[2, 64]"

// Not owned. `Byte` is std::byte or const std::byte.
template <typename Byte>
class BasicView {
 public:
  BasicView() = default;
  BasicView(Byte* data, DType dtype, Shape shape) : data_(data), dtype_(dtype), shape_(shape) {}
  // A mutable view serves as a const one.
  operator BasicView<const std::byte>() const { return {data_, dtype_, shape_}; }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t elements() const { return shape_.elements(); }
  Byte* raw() const { return data_; }

  template <typename T>
  auto* data() const {
    NS_CHECK(DTypeOf<T>::value == dtype_, "{} asked of a tensor of {}", Name(DTypeOf<T>::value),
             Name(dtype_));
    if constexpr (std::is_const_v<Byte>) {
      return reinterpret_cast<const T*>(data_);
    } else {
      return reinterpret_cast<T*>(data_);
    }
  }

  // Part [begin, begin + n) of the outermost dimension.
  BasicView Rows(int64_t begin, int64_t n) const {
    NS_CHECK(begin >= 0 && n >= 0 && begin + n <= shape_[0], "rows {}..{} of {}", begin, begin + n,
             shape_[0]);
    std::array<int64_t, 6> dims{};
    for (int i = 0; i < shape_.rank(); ++i) dims[i] = shape_[i];
    dims[0] = n;
    const int64_t row = shape_[0] ? elements() / shape_[0] : 0;
    return {data_ + begin * row * static_cast<int64_t>(SizeOf(dtype_)), dtype_,
            Shape(std::span<const int64_t>(dims.data(), shape_.rank()))};
  }
  // The same elements under another shape.
  BasicView Reshape(Shape shape) const {
    NS_CHECK(shape.elements() == elements(), "{} as {}", ToString(shape_), ToString(shape));
    return {data_, dtype_, shape};
  }

 private:
  Byte* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Shape shape_;
};
using View = BasicView<std::byte>;
using ConstView = BasicView<const std::byte>;

// Owned; not initialised.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape, MemoryUse use)
      : buffer_(static_cast<size_t>(shape.elements()) * SizeOf(dtype), use), dtype_(dtype), shape_(shape) {}

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t elements() const { return shape_.elements(); }
  bool empty() const { return buffer_.size() == 0; }
  size_t bytes() const { return buffer_.size(); }

  View view() { return {buffer_.data(), dtype_, shape_}; }
  ConstView view() const { return {buffer_.data(), dtype_, shape_}; }
  template <typename T>
  T* data() {
    return view().template data<T>();
  }
  template <typename T>
  const T* data() const {
    return view().template data<T>();
  }
  void FillZero();

 private:
  Buffer buffer_;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

// Converts between float types, element by element, rounding to nearest even. n elements, no overlap.
void ConvertFloats(const void* from, DType from_type, void* to, DType to_type, int64_t n);

}  // namespace nextscale
