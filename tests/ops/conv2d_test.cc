// Convolutions against their scalar twin: kinds, thin and wide channels, ragged tiles, both types, with all
// that is fused in.
#include "ops/conv2d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace nextscale {
namespace {

struct Case {
  ConvKind kind;
  int64_t in, out, h, w;
  DType dtype;  // of the weights
  DType x, y;
  bool norm, accumulate;
};

constexpr DType F = DType::kF32, B = DType::kBF16;
const Case kCases[] = {
    {ConvKind::k3x3, 8, 48, 5, 7, F, F, F, false, false},
    {ConvKind::k3x3, 3, 24, 18, 66, F, F, F, false, false},
    {ConvKind::k3x3, 24, 24, 17, 65, F, F, F, true, true},
    {ConvKind::k3x3, 24, 3, 16, 64, F, F, F, true, false},
    {ConvKind::k3x3, 14, 96, 1, 1, F, F, F, false, false},
    {ConvKind::k3x3, 130, 132, 9, 33, F, F, F, true, true},
    {ConvKind::k3x3, 260, 16, 9, 33, F, F, F, true, false},
    {ConvKind::k3x3Down, 24, 24, 34, 66, F, F, F, false, false},
    {ConvKind::k3x3Down, 32, 32, 7, 9, F, F, F, false, false},
    {ConvKind::k3x3Upsampled, 48, 24, 9, 33, F, F, F, false, false},
    {ConvKind::k3x3Upsampled, 5, 7, 3, 70, F, F, F, true, false},
    {ConvKind::k1x1, 48, 24, 20, 70, F, F, F, false, false},
    {ConvKind::k3x3, 64, 64, 17, 65, B, B, B, true, true},
    {ConvKind::k3x3, 14, 48, 5, 40, B, F, B, false, false},
    {ConvKind::k3x3, 32, 3, 18, 20, B, B, F, true, false},
    {ConvKind::k3x3Down, 24, 24, 10, 70, B, B, B, false, false},
    {ConvKind::k3x3Upsampled, 48, 48, 5, 5, B, B, B, false, false},
    {ConvKind::k1x1, 64, 32, 9, 9, B, B, B, false, false},
};

class Values {
 public:
  explicit Values(unsigned seed) : generator_(seed) {}
  std::vector<float> Floats(int64_t n, float spread) {
    std::vector<float> values(n);
    for (float& v : values) v = spread * normal_(generator_);
    return values;
  }
  Tensor Map(Shape shape, DType type) {
    const std::vector<float> values = Floats(shape.elements(), 1.0f);
    Tensor tensor(type, shape, {});
    ConvertFloats(values.data(), F, tensor.view().raw(), type, shape.elements());
    return tensor;
  }

 private:
  std::mt19937 generator_;
  std::normal_distribution<float> normal_;
};

struct Result {
  std::vector<float> y;
  ChannelAffine fold;  // of the moments
  std::vector<std::byte> bytes, moments;
};

Result RunCase(const Case& c, Backend backend) {
  const OpContext ctx(backend);
  const Conv2dShape shape{c.kind, c.in, c.out};
  Values values(5);
  const int64_t taps = c.in * shape.kernel() * shape.kernel();
  const Conv2dWeights weights = Conv2dWeights::Pack(
      shape, c.dtype, values.Floats(c.out * taps, 1.0f / std::sqrt(static_cast<float>(taps))),
      values.Floats(c.out, 1.0f), ctx);
  const ChannelAffine norm{values.Floats(c.in, 1.0f), values.Floats(c.in, 1.0f), values.Floats(c.in, 1.0f)};
  const Tensor x = values.Map({c.h, c.w, c.in}, c.x);
  const MapSize out = shape.OutSize({c.h, c.w});
  Tensor y = values.Map({out.h, out.w, c.out}, c.y);
  const int64_t parts = MomentParts(shape, out, backend);
  Result result;
  result.moments.resize(ChannelMoments::Bytes(parts, c.out));
  const ChannelMoments moments(result.moments.data(), parts, c.out);
  Conv2d(weights, {x.view(), y.view(), c.norm ? &norm : nullptr, c.accumulate, moments}, ctx);

  result.y.resize(y.elements());
  ConvertFloats(y.view().raw(), c.y, result.y.data(), F, y.elements());
  result.bytes.assign(y.view().raw(), y.view().raw() + y.bytes());
  result.fold =
      FoldGroupNorm({c.out, 1e-6, std::vector<float>(c.out, 1.0f), std::vector<float>(c.out, 0.0f)}, moments);
  return result;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  NS_CHECK_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

TEST(Conv2d, EqualsItsScalarTwin) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(c.kind) << " " << c.in << "->" << c.out
                                    << " on " << c.h << "x" << c.w << " " << Name(c.dtype));
    const Result got = RunCase(c, Backend::kFast), expected = RunCase(c, Backend::kReference);
    // Outputs are about 1, at most 6. f32: sums of up to 2,340 products of about 1/48. bf16 output: the
    // neighbour of a value below 8, 2^-6 away, twice because without fast bf16 the operands aren't rounded;
    // bf16 operands to f32: their rounding, 2^-9 each, averaged over the taps.
    const double tolerance = c.y == B ? 1.0 / 32 : c.dtype == B ? 1.0 / 64 : 2e-5;
    EXPECT_LE(LargestDifference(got.y, expected.y), tolerance);
    // Means and deviations over all pixels: rounding averages out, but for maps of a pixel or few, whose
    // deviation is 0 or small.
    if (got.y.size() < 2000) continue;
    EXPECT_LE(LargestDifference(got.fold.mean, expected.fold.mean), tolerance / 4);
    EXPECT_LE(LargestDifference(got.fold.scale, expected.fold.scale), tolerance);
  }
}

// Known answers that don't rest on the twin: a kernel of ones counts the taps that lie on the map.
TEST(Conv2d, PadsWithZerosOnTheRightSides) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    const auto count = [&](ConvKind kind, int64_t h, int64_t w) {
      const Conv2dShape shape{kind, 1, 1};
      const Conv2dWeights weights = Conv2dWeights::Pack(
          shape, F, std::vector<float>(shape.kernel() * shape.kernel(), 1.0f), std::vector<float>(1), ctx);
      Tensor x(F, {h, w, 1}, {});
      std::fill_n(x.data<float>(), x.elements(), 1.0f);
      const MapSize out = shape.OutSize({h, w});
      std::vector<float> y(out.tokens());
      const int64_t parts = MomentParts(shape, out, backend);
      std::vector<std::byte> memory(ChannelMoments::Bytes(parts, 1));
      const View view(reinterpret_cast<std::byte*>(y.data()), F, {out.h, out.w, 1});
      Conv2d(weights, {x.view(), view, nullptr, false, ChannelMoments(memory.data(), parts, 1)}, ctx);
      return y;
    };
    EXPECT_EQ(count(ConvKind::k3x3, 3, 3), (std::vector<float>{4, 6, 4, 6, 9, 6, 4, 6, 4}));
    EXPECT_EQ(count(ConvKind::k3x3Down, 4, 4), (std::vector<float>{9, 6, 6, 4}));
    EXPECT_EQ(count(ConvKind::k3x3Upsampled, 1, 2), (std::vector<float>{4, 6, 6, 4, 4, 6, 6, 4}));
    EXPECT_EQ(count(ConvKind::k1x1, 1, 2), (std::vector<float>{1, 1}));
  }
}

TEST(Conv2d, SameBitsForAnyNumberOfThreads) {
  const int threads = MaxThreads();
  for (const Case& c : {kCases[2], kCases[12]}) {
    SetMaxThreads(1);
    const Result one = RunCase(c, Backend::kFast);
    for (int n : {2, 3}) {
      SetMaxThreads(n);
      const Result other = RunCase(c, Backend::kFast);
      EXPECT_EQ(one.bytes, other.bytes);
      EXPECT_EQ(one.moments, other.moments);
    }
    SetMaxThreads(threads);
  }
}

// Against the same convolution to another place, on maps of one row of tiles, of several and of a ragged
// number.
TEST(Conv2d, ShrinksInPlace) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    for (const auto& [in, out, h, w] :
         {std::array<int64_t, 4>{48, 24, 5, 70}, {64, 32, 100, 70}, {260, 65, 67, 40}}) {
      const Conv2dShape shape{ConvKind::k1x1, in, out};
      Values values(3);
      const std::vector<float> kernel = values.Floats(in * out, 0.1f), bias = values.Floats(out, 1.0f);
      const Conv2dWeights weights = Conv2dWeights::Pack(shape, B, kernel, bias, ctx);
      Tensor x = values.Map({h, w, in}, B), y(B, {h, w, out}, {});
      const int64_t parts = MomentParts(shape, {h, w}, backend);
      std::vector<std::byte> memory[2];
      for (auto& m : memory) m.resize(ChannelMoments::Bytes(parts, out));
      Conv2d(weights, {x.view(), y.view(), nullptr, false, ChannelMoments(memory[0].data(), parts, out)},
             ctx);
      const View onto(x.view().raw(), B, y.shape());
      Conv2d(weights, {x.view(), onto, nullptr, false, ChannelMoments(memory[1].data(), parts, out)}, ctx);
      EXPECT_EQ(std::memcmp(onto.raw(), y.view().raw(), y.bytes()), 0)
          << in << "->" << out << " on " << h << "x" << w;
      EXPECT_EQ(memory[0], memory[1]);
    }
  }
}

TEST(Conv2d, MomentsShowANan) {
  const OpContext ctx;
  const Conv2dShape shape{ConvKind::k3x3, 4, 4};
  const Conv2dWeights weights =
      Conv2dWeights::Pack(shape, F, std::vector<float>(144, 0.1f), std::vector<float>(4), ctx);
  Tensor x(F, {40, 80, 4}, {}), y(F, {40, 80, 4}, {});
  x.FillZero();
  x.data<float>()[35 * 80 * 4 + 77 * 4] = NAN;
  const int64_t parts = MomentParts(shape, {40, 80}, Backend::kFast);
  std::vector<std::byte> memory(ChannelMoments::Bytes(parts, 4));
  const ChannelMoments moments(memory.data(), parts, 4);
  Conv2d(weights, {x.view(), y.view(), nullptr, false, moments}, ctx);
  EXPECT_FALSE(moments.Finite());
}

TEST(Conv2d, HoldsWhatThePlansSay) {
  for (const DType dtype : {F, B}) {
    MemoryLedger ledger;
    const OpContext ctx(Backend::kFast, &ledger);
    const Conv2dShape shape{ConvKind::k3x3, 48, 24};
    const Conv2dWeights weights =
        Conv2dWeights::Pack(shape, dtype, std::vector<float>(48 * 24 * 9), std::vector<float>(24), ctx);
    EXPECT_EQ(static_cast<int64_t>(weights.bytes()), PackedConv2dBytes(shape, dtype));
    EXPECT_EQ(ledger.current(Account::kWeights), PackedConv2dBytes(shape, dtype));
    Tensor x(F, {8, 8, 48}, {}), y(F, {8, 8, 24}, {});
    x.FillZero();
    std::vector<std::byte> memory(ChannelMoments::Bytes(1, 24));
    Conv2d(weights, {x.view(), y.view(), nullptr, false, ChannelMoments(memory.data(), 1, 24)}, ctx);
    EXPECT_EQ(ledger.peak(Account::kScratch), Conv2dScratchBytes(shape, dtype));
  }
}

}  // namespace
}  // namespace nextscale
