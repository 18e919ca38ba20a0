// The token scores by Highway. Column sums are taken over fixed blocks of a stream's rows, and the blocks'
// sums added in order, so that they don't depend on who computed which.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/token_deviation_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>

#include "ops/chunks.h"
#include "ops/simd_common-inl.h"
#include "ops/token_deviation_internal.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

// sums[c] = sum over the rows, four rows at a time.
void SumRows(const float* x, int64_t rows, int64_t C, float* sums) {
  std::fill_n(sums, C, 0.0f);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* row = x + r * C;
    ForVectors(C, [&](int64_t i, auto part) HWY_ATTR {
      const FloatVec low = hn::Add(Load(row + i, part), Load(row + C + i, part));
      const FloatVec high = hn::Add(Load(row + 2 * C + i, part), Load(row + 3 * C + i, part));
      Store(hn::Add(Load(sums + i, part), hn::Add(low, high)), sums + i, part);
    });
  }
  for (; r < rows; ++r) {
    ForVectors(C, [&](int64_t i, auto part) HWY_ATTR {
      Store(hn::Add(Load(sums + i, part), Load(x + r * C + i, part)), sums + i, part);
    });
  }
}

// mean[c] = sum of the blocks' sums / L
void MeanOfBlocks(const float* sums, int64_t blocks, int64_t C, float inverse_L, float* mean) {
  SumRows(sums, blocks, C, mean);
  const FloatVec inverse = hn::Set(FloatTag(), inverse_L);
  ForVectors(C, [&](int64_t i, auto part)
                    HWY_ATTR { Store(hn::Mul(Load(mean + i, part), inverse), mean + i, part); });
}

float SquaredDistance(const float* row, const float* mean, int64_t C) {
  return SumVectors(C, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVec difference = hn::Sub(Load(row + i, part), Load(mean + i, part));
    return hn::Mul(difference, difference);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::token_deviation {

HWY_EXPORT(SumRows);
HWY_EXPORT(MeanOfBlocks);
HWY_EXPORT(SquaredDistance);

constexpr int64_t kBlockRows = 32;

void Fast(ConstView x, int64_t rows_per_stream, std::span<float> scores, const OpContext& ctx) {
  const int64_t L = rows_per_stream, C = x.dim(1), B = x.dim(0) / L,
                blocks = (L + kBlockRows - 1) / kBlockRows;
  const float* rows = x.data<float>();
  float* mean_BC = reinterpret_cast<float*>(ctx.scratch.Shared((blocks + 1) * B * C * sizeof(float)));
  float* sums = mean_BC + B * C;
  ParallelFor(B * blocks, [&](int64_t i, int) {
    const int64_t begin = i % blocks * kBlockRows;
    HWY_DYNAMIC_DISPATCH(SumRows)
    (rows + (i / blocks * L + begin) * C, std::min(kBlockRows, L - begin), C, sums + i * C);
  });
  ParallelFor(B, [&](int64_t b, int) {
    HWY_DYNAMIC_DISPATCH(MeanOfBlocks)
    (sums + b * blocks * C, blocks, C, 1.0f / static_cast<float>(L), mean_BC + b * C);
  });
  ForRowChunks(B * L, C, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      scores[r] = HWY_DYNAMIC_DISPATCH(SquaredDistance)(rows + r * C, mean_BC + r / L * C, C);
  });
}

}  // namespace nextscale::token_deviation
#endif  // HWY_ONCE
