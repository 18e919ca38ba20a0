// AdaNorm against its scalar twin and against LayerNorm, and how it shows values that are not finite.
#include "ops/ada_norm.h"

#include <gtest/gtest.h>

#include "ops/norm.h"
#include "row_problem.h"

namespace nextscale {
namespace {

struct Problem {
  int64_t streams, rows, width, stride;
  Tensor x;
  std::vector<float> ada;  // a stream's scale, then its shift, then what is not theirs
  Problem(int64_t streams, RowCase c)
      : streams(streams),
        rows(c.rows),
        width(c.width),
        stride(2 * c.width + 5),
        x(RandomTensor({streams * c.rows, c.width}, DType::kF32, 1.5f, 2.0f, 1)),
        ada(RandomFloats(streams * stride, 2)) {}
  Tensor Run(DType type, const OpContext& ctx, bool expected = true) const {
    Tensor y(type, x.shape(), {});
    EXPECT_EQ(AdaNorm({.x = x.view(),
                       .y = y.view(),
                       .rows_per_stream = rows,
                       .scale_BC = ada.data(),
                       .shift_BC = ada.data() + width,
                       .stream_stride = stride},
                      ctx),
              expected);
    return y;
  }
};

TEST(AdaNorm, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const RowCase c : kRowCases) {
    for (const int64_t streams : {1, 2, 3}) {
      const Problem p(streams, c);
      for (const DType type : {DType::kF32, DType::kBF16}) {
        // As LayerNorm's (norm_test.cc), at values up to twice as large.
        EXPECT_EQ(DifferenceFromTwin(p.Run(type, fast), p.Run(type, twin), 8e-6), "")
            << streams << "x" << c.rows << "x" << c.width;
      }
    }
  }
}

// With scale = weight - 1, stream by stream.
TEST(AdaNorm, IsLayerNormWithEachStreamsOwnRows) {
  const OpContext ctx;
  const Problem p(3, {4, 70});
  const Tensor got = p.Run(DType::kF32, ctx);
  Tensor expected(DType::kF32, p.x.shape(), {});
  for (int64_t b = 0; b < p.streams; ++b) {
    std::vector<float> weight(p.ada.begin() + b * p.stride, p.ada.begin() + b * p.stride + p.width);
    for (float& w : weight) w += 1.0f;
    ASSERT_TRUE(LayerNorm({.x = p.x.view().Rows(b * p.rows, p.rows),
                           .y = expected.view().Rows(b * p.rows, p.rows),
                           .weight = weight.data(),
                           .bias = p.ada.data() + b * p.stride + p.width,
                           .eps = 1e-6f},
                          ctx));
  }
  EXPECT_TRUE(SameBytes(got, expected));
}

TEST(AdaNorm, OfChosenRowsIsThatOfTheWhole) {
  const Problem p(2, {40, 33});
  const std::vector<int32_t> rows = {0, 3, 39, 40, 71, 79};  // three a stream
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    const Tensor whole = p.Run(DType::kF32, ctx);
    Tensor y(DType::kF32, {6, 33}, {});
    ASSERT_TRUE(AdaNorm({.x = p.x.view(),
                         .y = y.view(),
                         .rows = rows,
                         .rows_per_stream = 3,
                         .scale_BC = p.ada.data(),
                         .shift_BC = p.ada.data() + p.width,
                         .stream_stride = p.stride},
                        ctx));
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_TRUE(std::equal(y.data<float>() + i * 33, y.data<float>() + (i + 1) * 33,
                             whole.data<float>() + rows[i] * 33));
  }
}

TEST(AdaNorm, SaysWhenARowIsNotFinite) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const int64_t at : {0, 433, 2 * 40 * 33 - 1}) {
        Problem p(2, {40, 33});
        p.x.data<float>()[at] = bad;
        p.Run(DType::kF32, ctx, false);
        p.Run(DType::kBF16, ctx, false);
      }
    }
  }
}

TEST(AdaNorm, DoesNotDependOnThreads) {
  const OpContext ctx;
  const Problem p(2, {41, 2080});
  const Tensor many = p.Run(DType::kBF16, ctx);
  const ThreadsScope one(1);
  EXPECT_TRUE(SameBytes(many, p.Run(DType::kBF16, ctx)));
}

}  // namespace
}  // namespace nextscale
