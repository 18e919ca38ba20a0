// Shapes, random tensors and comparison for the ops that work on rows; tests and benches share them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/threads.h"
#include "tensor/tensor.h"

namespace nextscale {

struct RowCase {
  int64_t rows, width;
};

// Every remainder a vector can leave, rows that don't fill a chunk, and the widths of real models.
inline constexpr RowCase kRowCases[] = {{1, 1},     {1, 6},    {67, 6},   {5, 17},  {2, 48},
                                        {7, 63},    {7, 64},   {13, 96},  {31, 95}, {67, 192},
                                        {33, 2048}, {5, 2080}, {19, 2071}};

inline Tensor RandomTensor(Shape shape, DType type, float mean, float spread, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(mean, spread);
  Tensor values(DType::kF32, shape, {}), tensor(type, shape, {});
  for (int64_t i = 0; i < values.elements(); ++i) values.data<float>()[i] = normal(generator);
  ConvertFloats(values.view().raw(), DType::kF32, tensor.view().raw(), type, values.elements());
  return tensor;
}

inline std::vector<float> RandomFloats(int64_t n, unsigned seed) {
  const Tensor tensor = RandomTensor({n}, DType::kF32, 0.0f, 1.0f, seed);
  return {tensor.data<float>(), tensor.data<float>() + n};
}

inline std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  ConvertFloats(tensor.view().raw(), tensor.dtype(), values.data(), DType::kF32, tensor.elements());
  return values;
}

// Empty if |got - expected| <= relative * |expected| + absolute everywhere (NaN where NaN is expected);
// otherwise the first element that isn't.
inline std::string FirstDifference(const std::vector<float>& got, const std::vector<float>& expected,
                                   double relative, double absolute) {
  if (got.size() != expected.size())
    return fmt::format("{} elements, expected {}", got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    const double difference = std::fabs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= relative * std::fabs(expected[i]) + absolute))
      return fmt::format("element {}: {}, expected {}", i, got[i], expected[i]);
  }
  return "";
}

// `f32` absolute for f32 results; in bf16 that difference may push a value to the neighbour, 2^-7 of it away
// at most.
inline std::string DifferenceFromTwin(const Tensor& got, const Tensor& twin, double f32) {
  return FirstDifference(Floats(got), Floats(twin), got.dtype() == DType::kBF16 ? 1.0 / 128 : 0.0, f32);
}

inline bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::equal(a.view().raw(), a.view().raw() + a.bytes(), b.view().raw());
}

// Sets the number of threads, and back at the end.
class ThreadsScope {
 public:
  explicit ThreadsScope(int threads) : before_(MaxThreads()) { SetMaxThreads(threads); }
  ~ThreadsScope() { SetMaxThreads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int before_;
};

}  // namespace nextscale
