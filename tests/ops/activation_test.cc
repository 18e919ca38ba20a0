// Elementwise ops against their scalar twins, and the ends of their ranges.
#include "ops/activation.h"

#include <gtest/gtest.h>

#include <bit>

#include "row_problem.h"

namespace nextscale {
namespace {

Tensor OfBits(const std::vector<uint32_t>& bits) {
  Tensor t(DType::kF32, {static_cast<int64_t>(bits.size())}, {});
  for (size_t i = 0; i < bits.size(); ++i) t.data<float>()[i] = std::bit_cast<float>(bits[i]);
  return t;
}

Tensor OfFloats(const std::vector<float>& values) {
  Tensor t(DType::kF32, {static_cast<int64_t>(values.size())}, {});
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

TEST(Activation, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const RowCase c : kRowCases) {
    for (const DType type : {DType::kF32, DType::kBF16}) {
      const Shape shape{c.rows, c.width};
      const Tensor gate = RandomTensor(shape, type, 0.0f, 3.0f, 1),
                   x = RandomTensor(shape, type, 0.0f, 1.0f, 2);
      Tensor got(type, shape, {}), expected(type, shape, {});
      // exp to 2e-7 relative and three roundings of values that reach 50.
      const auto same = [&] { return DifferenceFromTwin(got, expected, 1e-5); };
      SiluMul(gate.view(), x.view(), got.view(), fast);
      SiluMul(gate.view(), x.view(), expected.view(), twin);
      EXPECT_EQ(same(), "") << "SiluMul " << c.rows << "x" << c.width;
      GeluMul(gate.view(), x.view(), got.view(), fast);
      GeluMul(gate.view(), x.view(), expected.view(), twin);
      EXPECT_EQ(same(), "") << "GeluMul " << c.rows << "x" << c.width;
      Silu(gate.view(), got.view(), fast);
      Silu(gate.view(), expected.view(), twin);
      EXPECT_EQ(same(), "") << "Silu " << c.rows << "x" << c.width;
    }
  }
}

// 1e-6 of the value, where it isn't lost in the rounding of exp's argument: up to |u| * 2^-24 more.
TEST(Activation, FunctionsAreAccurateOverTheirRange) {
  std::vector<float> z;
  for (float v = -12.0f; v <= 12.0f; v += 0.0037f) z.push_back(v);
  const Tensor gate = OfFloats(z), one = OfFloats(std::vector<float>(z.size(), 1.0f));
  Tensor got(DType::kF32, gate.shape(), {}), expected(DType::kF32, gate.shape(), {});
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  Silu(gate.view(), got.view(), fast);
  Silu(gate.view(), expected.view(), twin);
  EXPECT_EQ(FirstDifference(Floats(got), Floats(expected), 2e-6, 1e-9), "");
  GeluMul(gate.view(), one.view(), got.view(), fast);
  GeluMul(gate.view(), one.view(), expected.view(), twin);
  EXPECT_EQ(FirstDifference(Floats(got), Floats(expected), 2e-6, 1e-7), "");
}

TEST(Activation, HoldsAtBothEndsAndKeepsNan) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    const Tensor z = OfFloats({-3e38f, -1000.0f, -88.5f, 0.0f, 88.5f, 1000.0f, 1e12f, NAN});
    const Tensor one = OfFloats(std::vector<float>(8, 1.0f));
    const std::vector<float> expected = {0, 0, 0, 0, 88.5f, 1000.0f, 1e12f, NAN};
    Tensor y(DType::kF32, z.shape(), {});
    Silu(z.view(), y.view(), ctx);
    EXPECT_EQ(FirstDifference(Floats(y), expected, 0, 1e-30), "");
    GeluMul(z.view(), one.view(), y.view(), ctx);
    EXPECT_EQ(FirstDifference(Floats(y), expected, 0, 1e-30), "");
  }
}

TEST(Activation, WorksInPlace) {
  const OpContext ctx;
  for (const DType type : {DType::kF32, DType::kBF16}) {
    Tensor gate = RandomTensor({3, 41}, type, 0.0f, 2.0f, 1), x = RandomTensor({3, 41}, type, 0.0f, 1.0f, 2);
    Tensor y(type, gate.shape(), {});
    SiluMul(gate.view(), x.view(), y.view(), ctx);
    SiluMul(gate.view(), x.view(), x.view(), ctx);
    EXPECT_TRUE(SameBytes(x, y));
    GeluMul(gate.view(), y.view(), y.view(), ctx);
    GeluMul(gate.view(), x.view(), gate.view(), ctx);
    EXPECT_TRUE(SameBytes(gate, y));
  }
}

TEST(Sums, EqualTheirScalarTwins) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const RowCase c : kRowCases) {
    const Shape shape{c.rows, c.width};
    const std::vector<float> row = RandomFloats(c.width, 3);
    const Tensor y = RandomTensor(shape, DType::kF32, 0.0f, 1.0f, 4);
    Tensor got = RandomTensor(shape, DType::kF32, 0.0f, 1.0f, 5),
           expected = RandomTensor(shape, DType::kF32, 0.0f, 1.0f, 5);
    AddRow(got.view(), row.data(), fast);
    AddRow(expected.view(), row.data(), twin);
    EXPECT_TRUE(SameBytes(got, expected)) << "AddRow " << c.rows << "x" << c.width;
    AddInPlace(got.view(), y.view(), fast);
    AddInPlace(expected.view(), y.view(), twin);
    EXPECT_TRUE(SameBytes(got, expected)) << "AddInPlace " << c.rows << "x" << c.width;

    Tensor other = RandomTensor(shape, DType::kF32, 0.0f, 1.0f, 6),
           other_twin = RandomTensor(shape, DType::kF32, 0.0f, 1.0f, 6);
    MixInPlace(got.view(), other.view(), 3.5f, fast);
    MixInPlace(expected.view(), other_twin.view(), 3.5f, twin);
    // One rounding less where multiply and add are fused, of products up to 20.
    EXPECT_EQ(FirstDifference(Floats(got), Floats(expected), 0, 2e-6), "")
        << "MixInPlace " << c.rows << "x" << c.width;
    EXPECT_TRUE(SameBytes(got, other)) << "both streams go on from the mix";
  }
}

TEST(Sums, AreTheFormula) {
  const OpContext twin(Backend::kReference);
  Tensor x(DType::kF32, {2, 2}, {}), b(DType::kF32, {2, 2}, {});
  std::copy_n(std::vector<float>{1, 2, 3, 4}.data(), 4, x.data<float>());
  std::copy_n(std::vector<float>{1, 0, 2, 8}.data(), 4, b.data<float>());
  const float row[] = {10, 20};
  AddRow(x.view(), row, twin);
  EXPECT_EQ(Floats(x), (std::vector<float>{11, 22, 13, 24}));
  MixInPlace(x.view(), b.view(), 3.0f, twin);
  EXPECT_EQ(Floats(x), (std::vector<float>{31, 66, 35, 56}));
}

// Ties to even, the carry into the exponent, infinity, and NaN with any payload; twice, so that full vectors
// and what is left of them are both seen.
TEST(Cast, RoundsToNearestEvenAndKeepsNan) {
  std::vector<uint32_t> bits;
  const std::vector<uint32_t> cases = {0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0x3fffffff,
                                       0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff,
                                       0x7fffffff, 0x80000000, 0x00000001, 0x00018000};
  const std::vector<uint16_t> expected = {0x3f80, 0x3f82, 0x3f81, 0x3f80, 0x4000, 0x7f80, 0x7f80,
                                          0xff80, 0x7fc0, 0xffff, 0x7fff, 0x8000, 0x0000, 0x0002};
  for (int i = 0; i < 3; ++i) bits.insert(bits.end(), cases.begin(), cases.end());
  const Tensor from = OfBits(bits);
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    Tensor half(DType::kBF16, from.shape(), {}), back(DType::kF32, from.shape(), {}),
        again(DType::kBF16, from.shape(), {});
    Cast(from.view(), half.view(), ctx);
    for (size_t i = 0; i < bits.size(); ++i)
      EXPECT_EQ(half.data<bf16_t>()[i].bits, expected[i % cases.size()]) << i << ": " << std::hex << bits[i];
    Cast(half.view(), back.view(), ctx);
    for (size_t i = 0; i < bits.size(); ++i)
      EXPECT_EQ(std::bit_cast<uint32_t>(back.data<float>()[i]), uint32_t{expected[i % cases.size()]} << 16)
          << i;
    Cast(half.view(), again.view(), ctx);
    EXPECT_TRUE(SameBytes(half, again));
  }
}

TEST(Cast, EqualsItsScalarTwin) {
  for (const RowCase c : kRowCases) {
    const Tensor from = RandomTensor({c.rows, c.width}, DType::kF32, 0.0f, 100.0f, 1);
    Tensor got(DType::kBF16, from.shape(), {}), expected(DType::kBF16, from.shape(), {});
    Cast(from.view(), got.view(), OpContext(Backend::kFast));
    Cast(from.view(), expected.view(), OpContext(Backend::kReference));
    EXPECT_TRUE(SameBytes(got, expected)) << c.rows << "x" << c.width;
  }
}

}  // namespace
}  // namespace nextscale
