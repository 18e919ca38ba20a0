// Rotary tables (oracle/var_infinity.py, rope_table), and the checks and dispatch of the qkv split.
#include "ops/rope2d.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/chunks.h"
#include "ops/elements.h"
#include "ops/rope2d_internal.h"

namespace nextscale {
namespace {

constexpr int64_t kGrid = 128;  // kResampled: the longer side of the grid that the table is made on

// cos and sin of one axis, [n, pairs] each.
struct AxisTable {
  int64_t pairs;
  std::vector<float> cos, sin;
};

// In f32 as torch: inverse frequencies, then angles, rounded to f32 before the cosine.
AxisTable AtPositions(std::span<const int64_t> positions, int64_t D) {
  const int64_t pairs = D / 4, half = D / 2;
  AxisTable table{pairs, {}, {}};
  for (const int64_t position : positions) {
    for (int64_t i = 0; i < pairs; ++i) {
      const float exponent = static_cast<float>(2 * i) / static_cast<float>(half);
      const float inverse_frequency =
          1.0f / static_cast<float>(std::pow(10000.0, static_cast<double>(exponent)));
      const double angle = static_cast<float>(position) * inverse_frequency;
      table.cos.push_back(static_cast<float>(std::cos(angle)));
      table.sin.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

std::vector<int64_t> RawPositions(int64_t n) {
  std::vector<int64_t> positions(n);
  for (int64_t i = 0; i < n; ++i) positions[i] = i;
  return positions;
}

// To n positions, corners aligned (F.interpolate(mode="bilinear", align_corners=True) along this axis).
AxisTable Resampled(const AxisTable& from, int64_t n) {
  const int64_t pairs = from.pairs, size = static_cast<int64_t>(from.cos.size()) / pairs;
  const float step = n > 1 ? static_cast<float>(size - 1) / static_cast<float>(n - 1) : 0.0f;
  AxisTable table{pairs, {}, {}};
  for (int64_t i = 0; i < n; ++i) {
    const float at = step * static_cast<float>(i);
    const int64_t low = std::min(static_cast<int64_t>(at), size - 1), high = std::min(low + 1, size - 1);
    const float weight = std::clamp(at - static_cast<float>(low), 0.0f, 1.0f);
    for (int64_t j = 0; j < pairs; ++j) {
      const auto mix = [&](const std::vector<float>& t) {
        return (1.0f - weight) * t[low * pairs + j] + weight * t[high * pairs + j];
      };
      table.cos.push_back(mix(from.cos));
      table.sin.push_back(mix(from.sin));
    }
  }
  return table;
}

// The table of n rows (or columns) of a map, whose last map has `last` of them and `other` on the other axis.
AxisTable OfAxis(int64_t n, int64_t last, int64_t other, int64_t D, RopeKind kind) {
  switch (kind) {
    case RopeKind::kRaw:
      return AtPositions(RawPositions(n), D);
    case RopeKind::kNormalized:
      return AtPositions(rope2d::NormalizedPositions(n, last), D);
    case RopeKind::kResampled:
      break;
  }
  const double shorter = static_cast<double>(kGrid) / static_cast<double>(other) * static_cast<double>(last);
  const int64_t grid = last >= other ? kGrid : static_cast<int64_t>(shorter);
  return Resampled(AtPositions(RawPositions(grid), D), n);
}

void CheckSplit(const QkvSplitArgs& a) {
  const Shape rows{a.B * a.L, a.H * a.D}, heads{a.B, a.H, a.L, a.D}, wide{a.B * a.L, 3 * a.H * a.D};
  NS_CHECK(a.qkv.shape() == wide, "qkv {}, expected {}", ToString(a.qkv.shape()), ToString(wide));
  NS_CHECK(a.q.shape() == rows, "q {}, expected {}", ToString(a.q.shape()), ToString(rows));
  NS_CHECK(a.k.shape() == heads && a.v.shape() == heads, "k {}, v {}, expected {}", ToString(a.k.shape()),
           ToString(a.v.shape()), ToString(heads));
  const DType type = a.qkv.dtype();
  NS_CHECK(IsF32OrBf16(type) && a.q.dtype() == type && a.k.dtype() == type && a.v.dtype() == type,
           "qkv {}, q {}, k {}, v {}", Name(type), Name(a.q.dtype()), Name(a.k.dtype()), Name(a.v.dtype()));
  NS_CHECK(a.D % 4 == 0 && a.q_scale_H && a.rope);
  NS_CHECK(a.rows.empty() || static_cast<int64_t>(a.rows.size()) == a.B * a.L, "{} rows of {} tokens",
           a.B * a.L, a.rows.size());
  const Shape table{a.rows.empty() ? a.L : a.rope->cos.dim(0), a.D / 2};
  NS_CHECK(a.rope->cos.shape() == table && a.rope->sin.shape() == table, "rope tables {} and {}, expected {}",
           ToString(a.rope->cos.shape()), ToString(a.rope->sin.shape()), ToString(table));
}

}  // namespace

std::vector<int64_t> rope2d::NormalizedPositions(int64_t n, int64_t last) {
  std::vector<int64_t> positions(n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t whole = i * last / n, rest = i * last % n;
    const bool up = 2 * rest > n || (2 * rest == n && whole % 2 == 1);
    positions[i] = whole + up;
  }
  return positions;
}

RopeTable BuildRopeTable(MapSize map, MapSize last, int64_t D, RopeKind kind, MemoryUse use) {
  NS_CHECK(D > 0 && D % 4 == 0, "head width {}", D);
  NS_CHECK(map.h > 0 && map.w > 0 && last.h > 0 && last.w > 0, "maps {}x{}, {}x{}", map.h, map.w, last.h,
           last.w);
  const AxisTable y = OfAxis(map.h, last.h, last.w, D, kind), x = OfAxis(map.w, last.w, last.h, D, kind);
  const Shape shape{map.tokens(), D / 2};
  RopeTable table{Tensor(DType::kF32, shape, use), Tensor(DType::kF32, shape, use)};
  float* cos = table.cos.data<float>();
  float* sin = table.sin.data<float>();
  const int64_t pairs = D / 4;
  for (int64_t i = 0; i < map.h; ++i) {
    for (int64_t j = 0; j < map.w; ++j, cos += D / 2, sin += D / 2) {
      std::copy_n(&y.cos[i * pairs], pairs, cos);
      std::copy_n(&x.cos[j * pairs], pairs, cos + pairs);
      std::copy_n(&y.sin[i * pairs], pairs, sin);
      std::copy_n(&x.sin[j * pairs], pairs, sin + pairs);
    }
  }
  return table;
}

void SplitQkv(const QkvSplitArgs& args, const OpContext& ctx) {
  CheckSplit(args);
  const ProfileScope scope(ctx.profiler, "split_qkv");
  if (ctx.backend == Backend::kReference) return rope2d::SplitQkvReference(args);
  rope2d::SplitQkvFast(args, ctx);
}

void SplitHeads(ConstView rows, View out, int64_t parts, int64_t H, int64_t D, const OpContext& ctx) {
  NS_CHECK(rows.shape().rank() == 2 && rows.dim(1) == parts * H * D && rows.dtype() == out.dtype(),
           "rows {} {}, {} parts of {} heads of {}, to {}", Name(rows.dtype()), ToString(rows.shape()), parts,
           H, D, Name(out.dtype()));
  const int64_t R = rows.dim(0);
  const Shape expected{parts, H, R, D};
  NS_CHECK(out.elements() == expected.elements(), "out {}, expected {}", ToString(out.shape()),
           ToString(expected));
  const ProfileScope scope(ctx.profiler, "split_heads");
  const int64_t bytes = D * static_cast<int64_t>(SizeOf(rows.dtype()));
  ForRowChunks(R, parts * H * D, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t h = 0; h < parts * H; ++h)
        std::memcpy(out.raw() + (h * R + r) * bytes, rows.raw() + (r * parts * H + h) * bytes, bytes);
    }
  });
}

}  // namespace nextscale
