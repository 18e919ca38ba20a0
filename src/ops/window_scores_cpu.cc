// Queries lie across the lanes, so that the softmax over keys is vertical and each key is read once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/window_scores_cpu.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/window_scores_internal.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void WindowScoresTarget(const WindowScoresArgs& args, std::span<float> scores, std::byte* scratch) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)),
                columns = PaddedQueries(static_cast<int64_t>(args.rows.size()));
  const int64_t keys = static_cast<int64_t>(scores.size()), rows = static_cast<int64_t>(args.rows.size());
  float* q_DW = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch) + 63) &
                                         ~uintptr_t{63});  // queries, transposed
  float* logits_SW = q_DW + args.D * columns;
  float* most_W = logits_SW + keys * columns;
  float* inverse_W = most_W + columns;
  float* row = inverse_W + columns;

  std::fill_n(q_DW, args.D * columns, 0.0f);
  for (int64_t i = 0; i < rows; ++i) {
    ConvertFloats(QueryRow(args, args.rows[i]), args.q.dtype(), row, DType::kF32, args.D);
    for (int64_t c = 0; c < args.D; ++c) q_DW[c * columns + i] = row[c] * args.scale;
  }
  std::fill_n(most_W, columns, -std::numeric_limits<float>::infinity());
  for (int64_t j = 0; j < keys; ++j) {
    ConvertFloats(KeyRow(args, j), args.q.dtype(), row, DType::kF32, args.D);
    for (int64_t w = 0; w < columns; w += lanes) {
      auto even = hn::Zero(d), odd = hn::Zero(d);  // two chains hide the latency of the sums
      for (int64_t c = 0; c + 1 < args.D; c += 2) {
        even = hn::MulAdd(hn::Set(d, row[c]), hn::Load(d, q_DW + c * columns + w), even);
        odd = hn::MulAdd(hn::Set(d, row[c + 1]), hn::Load(d, q_DW + (c + 1) * columns + w), odd);
      }
      if (args.D % 2)
        even = hn::MulAdd(hn::Set(d, row[args.D - 1]), hn::Load(d, q_DW + (args.D - 1) * columns + w), even);
      const auto logit = hn::Add(even, odd);
      hn::Store(logit, d, logits_SW + j * columns + w);
      hn::Store(hn::Max(hn::Load(d, most_W + w), logit), d, most_W + w);
    }
  }
  if (args.softmax) {
    std::fill_n(inverse_W, columns, 0.0f);
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t w = 0; w < columns; w += lanes) {
        const auto e = hn::Exp(d, hn::Sub(hn::Load(d, logits_SW + j * columns + w), hn::Load(d, most_W + w)));
        hn::Store(e, d, logits_SW + j * columns + w);
        hn::Store(hn::Add(hn::Load(d, inverse_W + w), e), d, inverse_W + w);
      }
    }
    for (int64_t w = 0; w < columns; ++w) inverse_W[w] = w < rows ? 1.0f / inverse_W[w] : 0.0f;
  } else {
    for (int64_t w = 0; w < columns; ++w) inverse_W[w] = w < rows ? 1.0f : 0.0f;
  }
  for (int64_t j = 0; j < keys; ++j) {
    auto sum = hn::Zero(d);
    for (int64_t w = 0; w < columns; w += lanes)
      sum = hn::MulAdd(hn::Load(d, logits_SW + j * columns + w), hn::Load(d, inverse_W + w), sum);
    scores[j] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

}  // namespace nextscale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale {

HWY_EXPORT(WindowScoresTarget);

void WindowScoresCpu(const WindowScoresArgs& args, std::span<float> scores, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(WindowScoresTarget)(args, scores, scratch);
}

}  // namespace nextscale
#endif
