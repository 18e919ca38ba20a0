// Bits of features, on cases that can be worked out by hand. The golden encode cases compare with the plain
// statement of it.
#include "engine/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace nextscale {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Tensor Of(Shape shape, std::initializer_list<float> values) {
  Tensor t(DType::kF32, shape, {});
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

std::vector<int> Bits(const Tensor& t) { return {t.data<uint8_t>(), t.data<uint8_t>() + t.elements()}; }
std::vector<float> Floats(ConstView t) { return {t.data<float>(), t.data<float>() + t.elements()}; }

class Seen : public TensorObserver {
 public:
  void See(std::string_view name, ConstView tensor) override { shapes[std::string(name)] = tensor.shape(); }
  std::map<std::string, Shape> shapes;
};

TEST(QuantizeTest, EachScaleCodesWhatTheCoarserOnesLeft) {
  // The mean 1 gives a code of +1 everywhere; 0.5, 0.5, -1.5, 0.5 are left.
  const Tensor features = Of({1, 2, 2}, {1.5f, 1.5f, -0.5f, 1.5f});
  const ScaleSchedule schedule{.maps = {{1, 1}, {2, 2}}, .rope_grid = {2, 2}};
  const EncodedBits out = EncodeBits(features.view(), schedule, false, nullptr, OpContext());
  ASSERT_EQ(out.bits.size(), 2u);
  EXPECT_THAT(Bits(out.bits[0]), ElementsAre(1));
  EXPECT_THAT(Bits(out.bits[1]), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(Floats(out.summed.view()), ElementsAre(2, 2, 0, 2));
}

TEST(QuantizeTest, ZeroIsTheBitZero) {
  const Tensor features = Of({1, 1, 1}, {0.0f});
  const ScaleSchedule schedule{.maps = {{1, 1}}, .rope_grid = {1, 1}};
  EXPECT_THAT(Bits(EncodeBits(features.view(), schedule, false, nullptr, OpContext()).bits[0]),
              ElementsAre(0));
}

TEST(QuantizeTest, PatchifyWorksAtTwiceTheTokenMap) {
  Tensor features(DType::kF32, {2, 4, 4}, {});
  for (int64_t i = 0; i < features.elements(); ++i)
    features.data<float>()[i] = static_cast<float>((i * 7) % 11 - 5);
  const ScaleSchedule schedule{.maps = {{1, 1}, {2, 2}}, .rope_grid = {2, 2}};
  Seen seen;
  const EncodedBits out = EncodeBits(features.view(), schedule, true, &seen, OpContext());
  EXPECT_EQ(out.bits[0].shape(), Shape({2, 2, 2}));
  EXPECT_EQ(out.bits[1].shape(), Shape({2, 4, 4}));
  EXPECT_EQ(seen.shapes.at("scale00.residual"), Shape({2, 2, 2}));
  EXPECT_EQ(seen.shapes.at("scale00.next_input"), Shape({4, 8}));
  EXPECT_FALSE(seen.shapes.contains("scale01.next_input"));
}

TEST(QuantizeTest, SumOfCodesIsWhatEncodingSummed) {
  Tensor features(DType::kF32, {3, 5, 4}, {});
  for (int64_t i = 0; i < features.elements(); ++i)
    features.data<float>()[i] = static_cast<float>((i * 37) % 23 - 11) / 7.0f;
  const ScaleSchedule schedule{.maps = {{1, 1}, {2, 2}, {3, 2}, {5, 4}}, .rope_grid = {5, 4}};
  const OpContext ops;
  const EncodedBits out = EncodeBits(features.view(), schedule, false, nullptr, ops);
  EXPECT_THAT(Floats(SumOfCodes(out.bits, ops).view()), ElementsAreArray(Floats(out.summed.view())));
}

}  // namespace
}  // namespace nextscale
