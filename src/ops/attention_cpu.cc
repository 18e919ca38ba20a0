// Attention in f32 arithmetic by Highway, transposed: a column is a query, so that softmax over keys needs no
// sums across lanes.
//   S^T = K Q^T (keys read in place), online softmax down the columns, O^T = V^T P^T.
// bf16 keys and values are converted a block at a time. An output's sums run over keys in order in blocks of
// fixed bounds, so its bits depend neither on the threads nor on the other queries.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention_cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ops/attention.h"
#include "ops/attention_exp-inl.h"
#include "ops/attention_internal.h"
#include "ops/simd_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

using attention::Keys;
using attention::QueryBlock;
using Df = hn::ScalableTag<float>;
using Vf = hn::Vec<Df>;

constexpr int64_t kKeyBlock = 256;
// A product tile holds kRows x kVecs sums in registers: 24 of 32 with AVX-512, 12 of 16 elsewhere.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
constexpr int kVecs = 3;

// The queries of one panel, a column each.
struct Panel {
  int vecs;       // width in vectors
  int64_t width;  // in floats
  float* q_DW;    // [D, width]
  float* o_DW;    // [D, width], sums not yet divided
  float* max;     // [width], running
  float* sum;     // [width], running
};

// The rows of one block of keys, in f32; up to kRows - 1 pointers after the last repeat it.
struct KeyBlock {
  int64_t n;
  const float* k[kKeyBlock + kRows];
  const float* v[kKeyBlock + kRows];
};

// s[row, :] = k_rows[row] Q^T for kRows keys.
template <int kV>
HWY_INLINE void LogitsTile(const float* const* k_rows, const Panel& panel, int64_t D, float* HWY_RESTRICT s) {
  const Df d;
  const int64_t N = hn::Lanes(d);
  const float* k[kRows];
  Vf sums[kRows][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    k[r] = k_rows[r];
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) sums[r][c] = hn::Zero(d);
  }
  const float* HWY_RESTRICT q = panel.q_DW;
  for (int64_t i = 0; i < D; ++i, q += kV * N) {
    Vf column[kV];
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) column[c] = hn::Load(d, q + c * N);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vf element = hn::Set(d, k[r][i]);
#pragma GCC unroll 4
      for (int c = 0; c < kV; ++c) sums[r][c] = hn::MulAdd(element, column[c], sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) hn::Store(sums[r][c], d, s + (r * kV + c) * N);
  }
}

// o[d0 + row, :] = alpha * o[d0 + row, :] + sum over keys of v[key, d0 + row] p[key, :], for kR rows.
template <int kR, int kV>
HWY_INLINE void ValuesTile(const KeyBlock& keys, const float* HWY_RESTRICT p, const float* alpha, int64_t d0,
                           float* HWY_RESTRICT o) {
  const Df d;
  const int64_t N = hn::Lanes(d);
  o += d0 * kV * N;
  Vf sums[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) {
      sums[r][c] = hn::Mul(hn::Load(d, alpha + c * N), hn::Load(d, o + (r * kV + c) * N));
    }
  }
  for (int64_t s = 0; s < keys.n; ++s, p += kV * N) {
    const float* v = keys.v[s] + d0;
    Vf column[kV];
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) column[c] = hn::Load(d, p + c * N);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      const Vf element = hn::Set(d, v[r]);
#pragma GCC unroll 4
      for (int c = 0; c < kV; ++c) sums[r][c] = hn::MulAdd(element, column[c], sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) hn::Store(sums[r][c], d, o + (r * kV + c) * N);
  }
}

// One vector column of the logits `s` [n, width] becomes weights exp(scale * s + bias - max) in place; max,
// sum and alpha (what the sums so far must be multiplied by) follow.
HWY_INLINE void SoftmaxColumn(int64_t n, int64_t width, float scale, const float* bias, float* s, float* max,
                              float* sum, float* alpha) {
  const Df d;
  const Vf scales = hn::Set(d, scale);
  const Vf old_max = hn::Load(d, max);
  Vf new_max = old_max;
  for (int64_t i = 0; i < n; ++i) {
    Vf x = hn::Mul(scales, hn::Load(d, s + i * width));
    if (bias) x = hn::Add(x, hn::Load(d, bias + i * width));
    hn::Store(x, d, s + i * width);
    new_max = hn::Max(new_max, x);
  }
  const Vf factor = ExpNonPositive(d, hn::Sub(old_max, new_max));
  Vf total = hn::Mul(factor, hn::Load(d, sum));
  for (int64_t i = 0; i < n; ++i) {
    const Vf p = ExpNonPositive(d, hn::Sub(hn::Load(d, s + i * width), new_max));
    hn::Store(p, d, s + i * width);
    total = hn::Add(total, p);
  }
  hn::Store(new_max, d, max);
  hn::Store(total, d, sum);
  hn::Store(factor, d, alpha);
}

template <int kV>
HWY_INLINE void AttendPanel(const KeyBlock& keys, const QueryBlock& block, const Panel& panel,
                            const float* bias, float* s) {
  const int64_t N = hn::Lanes(Df());
  HWY_ALIGN float alpha[kV * hn::MaxLanes(Df())];
  for (int64_t i = 0; i < keys.n; i += kRows) LogitsTile<kV>(keys.k + i, panel, block.D, s + i * panel.width);
  for (int c = 0; c < kV; ++c) {
    SoftmaxColumn(keys.n, panel.width, block.scale, bias ? bias + c * N : nullptr, s + c * N,
                  panel.max + c * N, panel.sum + c * N, alpha + c * N);
  }
  int64_t d0 = 0;
  for (; d0 + kRows <= block.D; d0 += kRows) ValuesTile<kRows, kV>(keys, s, alpha, d0, panel.o_DW);
  for (; d0 < block.D; ++d0) ValuesTile<1, kV>(keys, s, alpha, d0, panel.o_DW);
}

// Points `out` at the rows of keys [begin, begin + n); bf16 rows are converted into `converted` [n, D] first.
void GatherRows(const void* const segments[2], const Keys& keys, int64_t begin, int64_t n, int64_t D,
                bool bf16, float* converted, const float** out) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t s = begin + i;
    const int part = s < keys.length[0] ? 0 : 1;
    const int64_t at = (part ? s - keys.length[0] : s) * D;
    if (bf16) {
      const bf16_t* from = static_cast<const bf16_t*>(segments[part]) + at;
      float* to = converted + i * D;
      ForVectors(D, [&](int64_t d, auto part) HWY_ATTR { Store(Load(from + d, part), to + d, part); });
      out[i] = to;
    } else {
      out[i] = static_cast<const float*>(segments[part]) + at;
    }
  }
  for (int64_t i = n; i < n + kRows; ++i) out[i] = out[n - 1];
}

// Bias of the panel's queries (from q0 on) and the block's keys, transposed to [n, width].
void GatherBias(const QueryBlock& block, const Panel& panel, int64_t q0, int64_t begin, int64_t n,
                float* out) {
  for (int64_t c = 0; c < panel.width; ++c) {
    const bool real = q0 + c < block.queries;
    const float* row = block.bias + (q0 + c) * block.keys.total() + begin;
    for (int64_t i = 0; i < n; ++i) out[i * panel.width + c] = real ? row[i] : 0.0f;
  }
}

Panel MakePanel(const QueryBlock& block, bool bf16, int64_t q0, float*& scratch) {
  const int64_t N = hn::Lanes(Df()), left = block.queries - q0;
  Panel p;
  p.vecs = static_cast<int>(left < kVecs * N ? (left + N - 1) / N : kVecs);
  p.width = p.vecs * N;
  p.q_DW = scratch;
  p.o_DW = p.q_DW + block.D * p.width;
  p.max = p.o_DW + block.D * p.width;
  p.sum = p.max + p.width;
  scratch = p.sum + p.width;
  for (int64_t i = 0; i < block.D * p.width; ++i) p.q_DW[i] = p.o_DW[i] = 0.0f;
  for (int64_t i = 0; i < p.width; ++i) {
    p.max[i] = -HUGE_VALF;
    p.sum[i] = 0.0f;
    for (int64_t d = 0; q0 + i < block.queries && d < block.D; ++d) {
      const int64_t at = (q0 + i) * block.stride + d;
      p.q_DW[d * p.width + i] =
          bf16 ? float(static_cast<const bf16_t*>(block.q)[at]) : static_cast<const float*>(block.q)[at];
    }
  }
  return p;
}

void StorePanel(const QueryBlock& block, bool bf16, int64_t q0, const Panel& p) {
  for (int64_t i = 0; i < p.width && q0 + i < block.queries; ++i) {
    const float factor = block.keys.total() ? 1.0f / p.sum[i] : 0.0f;
    for (int64_t d = 0; d < block.D; ++d) {
      const float value = p.o_DW[d * p.width + i] * factor;
      const int64_t at = (q0 + i) * block.stride + d;
      if (bf16) {
        static_cast<bf16_t*>(block.o)[at] = bf16_t(value);
      } else {
        static_cast<float*>(block.o)[at] = value;
      }
    }
  }
}

void AttendInF32(const QueryBlock& block, bool bf16) {
  const int64_t D = block.D, N = hn::Lanes(Df());
  float* s = reinterpret_cast<float*>(block.scratch);  // [kKeyBlock + kRows, kVecs * N]
  float* bias = s + (kKeyBlock + kRows) * kVecs * N;
  float* k = bias + kKeyBlock * kVecs * N;
  float* v = k + kKeyBlock * D;
  float* free = v + kKeyBlock * D;
  Panel panels[attention::kMaxQueriesInF32 / kVecs];
  int64_t count = 0;
  for (int64_t q0 = 0; q0 < block.queries; q0 += kVecs * N)
    panels[count++] = MakePanel(block, bf16, q0, free);
  KeyBlock keys;
  for (int64_t begin = 0; begin < block.keys.total(); begin += kKeyBlock) {
    keys.n = HWY_MIN(kKeyBlock, block.keys.total() - begin);
    GatherRows(block.keys.k, block.keys, begin, keys.n, D, bf16, k, keys.k);
    GatherRows(block.keys.v, block.keys, begin, keys.n, D, bf16, v, keys.v);
    for (int64_t i = 0; i < count; ++i) {
      const Panel& p = panels[i];
      if (block.bias) GatherBias(block, p, i * kVecs * N, begin, keys.n, bias);
      const float* panel_bias = block.bias ? bias : nullptr;
      if (p.vecs == 3) AttendPanel<3>(keys, block, p, panel_bias, s);
      if (p.vecs == 2) AttendPanel<2>(keys, block, p, panel_bias, s);
      if (p.vecs == 1) AttendPanel<1>(keys, block, p, panel_bias, s);
    }
  }
  for (int64_t i = 0; i < count; ++i) StorePanel(block, bf16, i * kVecs * N, panels[i]);
}

size_t ScratchInF32(int64_t D) {
  const int64_t N = hn::Lanes(Df()), width = kVecs * N;
  const int64_t columns = attention::kMaxQueriesInF32 + width;
  return sizeof(float) * ((2 * kKeyBlock + kRows) * width + 2 * kKeyBlock * D + columns * (2 * D + 2));
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale {
HWY_EXPORT(AttendInF32);
HWY_EXPORT(ScratchInF32);

namespace attention {

void InF32(const AttentionArgs& args, const OpContext& ctx) {
  const int64_t blocks = (args.L + kMaxQueriesInF32 - 1) / kMaxQueriesInF32;
  const bool bf16 = args.q.dtype() == DType::kBF16;
  const size_t bytes = HWY_DYNAMIC_DISPATCH(ScratchInF32)(args.D);
  ParallelFor(args.B * args.H * blocks, [&](int64_t i, int thread) {
    QueryBlock block = QueryBlockOf(args, i / blocks, i % blocks, kMaxQueriesInF32);
    block.scratch = ctx.scratch.ForThread(thread, bytes);
    HWY_DYNAMIC_DISPATCH(AttendInF32)(block, bf16);
  });
}

}  // namespace attention
}  // namespace nextscale
#endif  // HWY_ONCE
