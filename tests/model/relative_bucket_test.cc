// T5's relative buckets: the golden table, and the steps where a logarithm in floats may fall on either side.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/safetensors.h"
#include "model/text/t5_encoder.h"

namespace nextscale {
namespace {

TEST(RelativeBucket, IsTheGoldenTable) {
  StoredFile file =
      ReadSafetensors(NEXTSCALE_SOURCE_DIR "/tests/golden/T5-long-prompt/expected.safetensors").value();
  const auto source = StoredTensors::Create("golden", std::move(file.tensors)).value();
  const Tensor table = ReadTensor(*source, "relative_buckets", {1023}, DType::kI32, {}).value();
  for (int64_t d = -511; d <= 511; ++d)
    EXPECT_EQ(RelativeBucket(d, 32, 128), table.data<int32_t>()[d + 511]) << d;
}

TEST(RelativeBucket, StepsSitExactly) {
  // 32 buckets, 128: 8 + floor(8 log(d / 8) / log(16)), a step each factor of sqrt(2); 16, 32, 64 are steps
  // 2, 4, 6.
  for (const auto& [distance, bucket] :
       {std::pair{15, 9}, {16, 10}, {31, 11}, {32, 12}, {63, 13}, {64, 14}, {127, 15}, {128, 15}}) {
    EXPECT_EQ(RelativeBucket(-distance, 32, 128), bucket) << distance;
    EXPECT_EQ(RelativeBucket(distance, 32, 128), bucket + 16) << distance;
  }
  // 16 buckets, 64: 4 + floor(4 log(d / 4) / log(16)), a step each factor of 2.
  for (const auto& [distance, bucket] :
       {std::pair{3, 3}, {4, 4}, {7, 4}, {8, 5}, {15, 5}, {16, 6}, {31, 6}, {32, 7}, {64, 7}, {511, 7}}) {
    EXPECT_EQ(RelativeBucket(-distance, 16, 64), bucket) << distance;
    EXPECT_EQ(RelativeBucket(distance, 16, 64), bucket + 8) << distance;
  }
  EXPECT_EQ(RelativeBucket(0, 32, 128), 0);
}

// The formula in long double, wherever its value is clear of a step; on a step only exact arithmetic tells.
TEST(RelativeBucket, IsTheFormulaForOtherSettings) {
  for (const auto& [buckets, far] :
       {std::pair{4, 3}, {5, 9}, {7, 20}, {10, 100}, {12, 50}, {33, 128}, {64, 256}, {1024, 1 << 20}}) {
    const int64_t half = buckets / 2, exact = half / 2;
    for (int64_t d = 1; d < 3000; ++d) {
      int64_t expected = d;
      if (d >= exact) {
        const long double at = (half - exact) * std::log(static_cast<long double>(d) / exact) /
                               std::log(static_cast<long double>(far) / exact);
        if (std::fabs(at - std::round(at)) < 1e-9L) continue;
        expected = std::min<int64_t>(exact + static_cast<int64_t>(at), half - 1);
      }
      EXPECT_EQ(RelativeBucket(-d, buckets, far), expected) << buckets << " " << far << " " << d;
      EXPECT_EQ(RelativeBucket(d, buckets, far), expected + half) << buckets << " " << far << " " << d;
    }
  }
}

}  // namespace
}  // namespace nextscale
