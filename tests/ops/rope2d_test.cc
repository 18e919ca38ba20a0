// Rotary tables against torch, and the qkv split against its scalar twin and its properties.
#include "ops/rope2d.h"

#include <gtest/gtest.h>

#include <sstream>

#include "ops/rope2d_internal.h"
#include "row_problem.h"

namespace nextscale {
namespace {

// The maps of 1M by height/width ratio (infinity.md, "Scale schedules"); those below 1 have them turned.
const char* const kSchedules[] = {
    "1,1 2,2 4,4 6,6 8,8 12,12 16,16 20,20 24,24 32,32 40,40 48,48 64,64",
    "1,1 2,2 3,3 5,4 10,8 15,12 20,16 25,20 30,24 35,28 45,36 55,44 70,56",
    "1,1 2,2 4,3 8,6 12,9 16,12 20,15 24,18 28,21 36,27 48,36 60,45 72,54",
    "1,1 2,2 3,2 6,4 9,6 15,10 21,14 27,18 33,22 39,26 48,32 63,42 78,52",
    "1,1 2,2 3,3 7,4 11,6 14,8 21,12 28,16 35,20 42,24 56,32 70,40 84,48",
    "1,1 2,2 4,2 6,3 10,5 16,8 22,11 30,15 38,19 46,23 60,30 74,37 90,45",
    "1,1 2,2 5,2 10,4 15,6 20,8 25,10 30,12 40,16 50,20 65,26 80,32 100,40",
    "1,1 2,2 6,2 9,3 15,5 21,7 27,9 36,12 45,15 54,18 72,24 90,30 111,37",
};

std::vector<MapSize> Parse(const char* text) {
  std::istringstream in(text);
  std::vector<MapSize> maps;
  char comma;
  for (MapSize m; in >> m.h >> comma >> m.w;) maps.push_back(m);
  return maps;
}

// torch.round(torch.arange(n) * (last / n)): the quotient in double, the product in f32, halves to even.
std::vector<int64_t> TorchPositions(int64_t n, int64_t last) {
  const auto step = static_cast<float>(static_cast<double>(last) / static_cast<double>(n));
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < n; ++i)
    positions.push_back(static_cast<int64_t>(std::nearbyint(static_cast<float>(i) * step)));
  return positions;
}

// The two axes of a turned schedule are the same two, so these are all 15 ratios.
TEST(RopePositions, AreTorchsOnAllSchedules) {
  int halves = 0;
  for (const char* text : kSchedules) {
    const std::vector<MapSize> maps = Parse(text);
    ASSERT_EQ(maps.size(), 13u);
    for (const MapSize m : maps) {
      const MapSize last = maps.back();
      EXPECT_EQ(rope2d::NormalizedPositions(m.h, last.h), TorchPositions(m.h, last.h))
          << m.h << " of " << last.h;
      EXPECT_EQ(rope2d::NormalizedPositions(m.w, last.w), TorchPositions(m.w, last.w))
          << m.w << " of " << last.w;
      for (int64_t i = 0; i < m.h; ++i) halves += 2 * (i * last.h % m.h) == m.h;
    }
  }
  EXPECT_GT(halves, 100);  // so that the rule for halves is seen
}

TEST(RopePositions, SendHalvesToTheEvenNeighbour) {
  const std::vector<int64_t> p = rope2d::NormalizedPositions(54, 111);
  EXPECT_EQ(p[9], 18);   // 18.5; 9 * (111 / 54) in double is above it
  EXPECT_EQ(p[27], 56);  // 55.5
  EXPECT_EQ(p[45], 92);  // 92.5
}

struct Entry {
  int64_t D;
  MapSize map, last;
  RopeKind kind;
  int64_t token, pair;
  float cos, sin;
};

// From torch 2 and oracle/var_infinity.py, rope_table.
const Entry kEntries[] = {
    {128, {54, 18}, {111, 37}, RopeKind::kNormalized, 179, 5, -0.42947948f, -0.903076649f},
    {128, {54, 18}, {111, 37}, RopeKind::kNormalized, 971, 1, 0.998372793f, 0.0570244119f},
    {128, {54, 18}, {111, 37}, RopeKind::kNormalized, 971, 33, 0.441473067f, 0.897274494f},
    {128, {54, 18}, {111, 37}, RopeKind::kNormalized, 700, 63, 0.999990344f, 0.00440060673f},
    {128, {54, 18}, {111, 37}, RopeKind::kNormalized, 489, 0, 0.853220105f, -0.521551013f},
    {128, {7, 12}, {48, 84}, RopeKind::kResampled, 0, 0, 1.0f, 0.0f},
    {128, {7, 12}, {48, 84}, RopeKind::kResampled, 83, 1, -0.833542526f, -0.552455246f},
    {128, {7, 12}, {48, 84}, RopeKind::kResampled, 83, 33, 0.549705207f, 0.835358739f},
    {128, {7, 12}, {48, 84}, RopeKind::kResampled, 40, 2, 0.175156534f, 0.984540582f},
    {128, {7, 12}, {48, 84}, RopeKind::kResampled, 50, 40, -0.672741294f, 0.739319563f},
    {64, {5, 4}, {70, 56}, RopeKind::kResampled, 11, 20, -0.780567944f, -0.62507093f},
    {64, {5, 4}, {70, 56}, RopeKind::kResampled, 19, 17, 0.969452739f, 0.245278239f},
    {64, {5, 4}, {70, 56}, RopeKind::kRaw, 19, 1, -0.627679706f, 0.778471708f},
    {64, {5, 4}, {70, 56}, RopeKind::kRaw, 19, 17, -0.115966164f, 0.993253171f},
    {64, {5, 4}, {70, 56}, RopeKind::kRaw, 7, 15, 1.0f, 0.00017782794f},
};

// Two roundings of values up to 1: torch's cosine and ours.
TEST(RopeTable, HasTorchsEntries) {
  for (const Entry& e : kEntries) {
    const RopeTable table = BuildRopeTable(e.map, e.last, e.D, e.kind, {});
    ASSERT_EQ(table.cos.shape(), (Shape{e.map.tokens(), e.D / 2}));
    const int64_t at = e.token * (e.D / 2) + e.pair;
    EXPECT_NEAR(table.cos.data<float>()[at], e.cos, 1.5e-7) << "token " << e.token << " pair " << e.pair;
    EXPECT_NEAR(table.sin.data<float>()[at], e.sin, 1.5e-7) << "token " << e.token << " pair " << e.pair;
  }
}

// The last map's positions are its own rows and columns; the first half of the pairs turns with y only.
TEST(RopeTable, OfTheLastMapIsRaw) {
  const MapSize last{12, 7};
  const RopeTable spread = BuildRopeTable(last, last, 48, RopeKind::kNormalized, {});
  const RopeTable raw = BuildRopeTable(last, last, 48, RopeKind::kRaw, {});
  EXPECT_TRUE(SameBytes(spread.cos, raw.cos) && SameBytes(spread.sin, raw.sin));
  const float* sin = raw.sin.data<float>();
  for (int64_t t = 0; t < last.tokens(); ++t) {
    const int64_t y = t / last.w, x = t % last.w;
    // inv_freq_0 = 1; f32 keeps sin of such small integers to a rounding.
    EXPECT_NEAR(sin[t * 24], std::sin(y), 1e-7);
    EXPECT_NEAR(sin[t * 24 + 12], std::sin(x), 1e-7);
  }
}

struct SplitCase {
  int64_t B, L, H, D;
};
const SplitCase kSplits[] = {{1, 1, 1, 4},    {1, 6, 3, 12},  {2, 6, 2, 20},    {3, 15, 4, 24},
                             {2, 20, 12, 64}, {1, 67, 2, 96}, {2, 35, 16, 128}, {1, 12, 5, 224}};

struct Outputs {
  Tensor q, k, v;
};

Outputs RunSplit(const SplitCase& s, const Tensor& qkv, const std::vector<float>& scale,
                 const RopeTable& rope, const OpContext& ctx) {
  const Shape heads{s.B, s.H, s.L, s.D};
  Outputs out{Tensor(qkv.dtype(), {s.B * s.L, s.H * s.D}, {}), Tensor(qkv.dtype(), heads, {}),
              Tensor(qkv.dtype(), heads, {})};
  SplitQkv({.qkv = qkv.view(),
            .q = out.q.view(),
            .k = out.k.view(),
            .v = out.v.view(),
            .B = s.B,
            .L = s.L,
            .H = s.H,
            .D = s.D,
            .q_scale_H = scale.data(),
            .rope = &rope},
           ctx);
  return out;
}

std::vector<float> Scales(int64_t H) {
  std::vector<float> scale(H);
  for (int64_t h = 0; h < H; ++h) scale[h] = 4.0f + static_cast<float>(h);
  return scale;
}

TEST(SplitQkv, EqualsItsScalarTwin) {
  const OpContext fast(Backend::kFast), twin(Backend::kReference);
  for (const SplitCase& s : kSplits) {
    const RopeTable rope = BuildRopeTable({1, s.L}, {3, 111}, s.D, RopeKind::kNormalized, {});
    for (const DType type : {DType::kF32, DType::kBF16}) {
      const Tensor qkv = RandomTensor({s.B * s.L, 3 * s.H * s.D}, type, 0.2f, 3.0f, 1);
      const Outputs got = RunSplit(s, qkv, Scales(s.H), rope, fast),
                    expected = RunSplit(s, qkv, Scales(s.H), rope, twin);
      // A norm to 2e-7 relative and three roundings of values up to 20 (q) and 1 (k).
      EXPECT_EQ(DifferenceFromTwin(got.q, expected.q, 6e-6), "") << "q, D " << s.D << " " << Name(type);
      EXPECT_EQ(DifferenceFromTwin(got.k, expected.k, 4e-7), "") << "k, D " << s.D << " " << Name(type);
      EXPECT_TRUE(SameBytes(got.v, expected.v)) << "v, D " << s.D << " " << Name(type);
    }
  }
}

// q and k end with the norms they were given, whatever the rotation.
TEST(SplitQkv, KeepsNormsAndCopiesV) {
  const SplitCase s{2, 9, 3, 64};
  const Tensor qkv = RandomTensor({s.B * s.L, 3 * s.H * s.D}, DType::kF32, 0.0f, 5.0f, 2);
  const RopeTable rope = BuildRopeTable({3, 3}, {64, 64}, s.D, RopeKind::kNormalized, {});
  const Outputs out = RunSplit(s, qkv, Scales(s.H), rope, OpContext());
  for (int64_t r = 0; r < s.B * s.L; ++r) {
    for (int64_t h = 0; h < s.H; ++h) {
      double q = 0, k = 0;
      const int64_t head = ((r / s.L * s.H + h) * s.L + r % s.L) * s.D, row = (r * s.H + h) * s.D;
      for (int64_t i = 0; i < s.D; ++i) {
        q += std::pow(out.q.data<float>()[row + i], 2);
        k += std::pow(out.k.data<float>()[head + i], 2);
        EXPECT_EQ(out.v.data<float>()[head + i],
                  qkv.data<float>()[r * 3 * s.H * s.D + (2 * s.H + h) * s.D + i]);
      }
      EXPECT_NEAR(std::sqrt(q), 4.0 + static_cast<double>(h), 1e-5);
      EXPECT_NEAR(std::sqrt(k), 1.0, 1e-6);
    }
  }
}

// One token, D 4, a quarter turn of the pair of y, none of x: (3, 0, 4, 0)/5 becomes (0, 3/5, 4/5, 0).
TEST(SplitQkv, TurnsPairs) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    RopeTable rope{Tensor(DType::kF32, {1, 2}, {}), Tensor(DType::kF32, {1, 2}, {})};
    std::copy_n(std::vector<float>{0, 1}.data(), 2, rope.cos.data<float>());
    std::copy_n(std::vector<float>{1, 0}.data(), 2, rope.sin.data<float>());
    Tensor qkv(DType::kF32, {1, 12}, {});
    std::copy_n(std::vector<float>{3, 0, 4, 0, 3, 0, 4, 0, 1, 2, 3, 4}.data(), 12, qkv.data<float>());
    const Outputs out = RunSplit({1, 1, 1, 4}, qkv, {2.0f}, rope, OpContext(backend));
    EXPECT_EQ(FirstDifference(Floats(out.q), {0, 1.2f, 1.6f, 0}, 1e-6, 0), "");
    EXPECT_EQ(FirstDifference(Floats(out.k), {0, 0.6f, 0.8f, 0}, 1e-6, 0), "");
    EXPECT_EQ(Floats(out.v), (std::vector<float>{1, 2, 3, 4}));
  }
}

// Rows that are some of the tokens of two maps turn as they do among all.
TEST(SplitQkv, ChosenTokensTurnByTheirOwnPlaces) {
  const int64_t n = 9, H = 3, D = 32, C = H * D;
  const RopeTable rope = BuildRopeTable({3, 3}, {64, 64}, D, RopeKind::kNormalized, {});
  const Tensor all = RandomTensor({2 * n, 3 * C}, DType::kF32, 0.0f, 2.0f, 5);
  const std::vector<int32_t> rows = {1, 4, 8, 9, 10, 17};
  Tensor some(DType::kF32, {6, 3 * C}, {});
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(all.data<float>() + rows[i] * 3 * C, 3 * C, some.data<float>() + i * 3 * C);
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    const Outputs whole = RunSplit({2, n, H, D}, all, Scales(H), rope, ctx);
    Tensor q(DType::kF32, {6, C}, {}), k(DType::kF32, {2, H, 3, D}, {}), v(DType::kF32, {2, H, 3, D}, {});
    const std::vector<float> scales = Scales(H);
    SplitQkv({.qkv = some.view(),
              .q = q.view(),
              .k = k.view(),
              .v = v.view(),
              .B = 2,
              .L = 3,
              .H = H,
              .D = D,
              .q_scale_H = scales.data(),
              .rope = &rope,
              .rows = rows},
             ctx);
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(std::equal(q.data<float>() + i * C, q.data<float>() + (i + 1) * C,
                             whole.q.data<float>() + rows[i] * C));
      for (int64_t h = 0; h < H; ++h) {
        const float* head = k.data<float>() + ((i / 3 * H + h) * 3 + i % 3) * D;
        const int64_t at = rows[i] % n;
        EXPECT_TRUE(std::equal(head, head + D, whole.k.data<float>() + ((i / 3 * H + h) * n + at) * D));
      }
    }
  }
}

TEST(SplitQkv, OfZerosIsZero) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    Tensor qkv(DType::kBF16, {2, 3 * 32}, {});
    qkv.FillZero();
    const RopeTable rope = BuildRopeTable({1, 2}, {8, 8}, 16, RopeKind::kNormalized, {});
    const Outputs out = RunSplit({1, 2, 2, 16}, qkv, {4.0f, 4.0f}, rope, OpContext(backend));
    EXPECT_EQ(Floats(out.q), std::vector<float>(64, 0.0f));
    EXPECT_EQ(Floats(out.k), std::vector<float>(64, 0.0f));
  }
}

TEST(SplitHeads, MovesEveryHeadsRows) {
  const int64_t R = 131, P = 2, H = 3, D = 20;
  for (const DType type : {DType::kF32, DType::kBF16}) {
    const Tensor rows = RandomTensor({R, P * H * D}, type, 0.0f, 1.0f, 3);
    Tensor out(type, {P, H, R, D}, {});
    SplitHeads(rows.view(), out.view(), P, H, D, OpContext());
    const std::vector<float> from = Floats(rows), to = Floats(out);
    for (int64_t r = 0; r < R; ++r) {
      for (int64_t c = 0; c < P * H * D; ++c)
        ASSERT_EQ(to[(c / D * R + r) * D + c % D], from[r * P * H * D + c]);
    }
  }
}

}  // namespace
}  // namespace nextscale
