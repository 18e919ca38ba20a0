// Attention against its scalar twin: ragged sizes, both dtypes, every instruction set of the machine.
#include "ops/attention.h"

#include <gmock/gmock.h>
#include <hwy/targets.h>

#include <bit>
#include <cstring>
#include <functional>

#include "attention_problem.h"
#include "ops/attention_internal.h"

namespace nextscale {
namespace attention {
const Bf16Kernel& EmulatedAmxKernel();
}

namespace {

using AttentionCall = std::function<void(const AttentionArgs&, const OpContext&)>;

// Attention's implementations that run here, by name.
struct Implementation {
  std::string name;
  Isa isa;
  int64_t hwy_target;  // 0: the best
  AttentionCall run = Attention;
};

void RunEmulatedAmx(const AttentionArgs& args, const OpContext& ctx) {
  attention::InBf16(args, ctx, attention::EmulatedAmxKernel());
}
std::vector<Implementation> Implementations(DType dtype) {
  const OpContext ctx;  // limits Highway's targets
  std::vector<Implementation> all;
  const int64_t targets = hwy::SupportedTargets();
  for (const int64_t target : {HWY_AVX3_DL, HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_SSSE3}) {
    if (targets & target) all.push_back({hwy::TargetName(target), Isa::kBaseline, target});
  }
  if (dtype != DType::kBF16) return all;
  for (const Isa isa : {Isa::kAvx512Bf16, Isa::kAmxBf16}) {
    if (isa <= ctx.isa) all.push_back({std::string(Name(isa)), isa, 0});
  }
  if (ctx.isa >= Isa::kAvx512Bf16) all.push_back({"emulated AMX", ctx.isa, 0, RunEmulatedAmx});
  return all;
}

// Calls `body` with each implementation and a context for it.
void ForEachImplementation(DType dtype,
                           const std::function<void(const AttentionCall&, const OpContext&)>& body) {
  const int64_t targets = (OpContext(), hwy::SupportedTargets());
  for (const Implementation& i : Implementations(dtype)) {
    SCOPED_TRACE(i.name);
    OpContext ctx;
    ctx.isa = i.isa;
    if (i.hwy_target) hwy::SetSupportedTargetsForTest(i.hwy_target);
    body(i.run, ctx);
    hwy::SetSupportedTargetsForTest(targets);
  }
}

// Error allowed of an output near `expected`, where `magnitude` is the same sum over |v|. f32: a weight is
// off by its logit's absolute error, some ulps of the largest partial sum of q.k (about 1e-7 |q| |k|), and by
// exp's 2e-7. bf16: p is rounded (2^-8 of it at most), and so are this output and the twin's (2^-8 each);
// exponentials and sums are good to 1e-3.
double Tolerance(DType dtype, float largest_logit, float expected, float magnitude) {
  if (dtype == DType::kF32) return 1e-6 * (1 + 0.3 * largest_logit) * magnitude;
  return (0x1p-8 + 1e-3) * magnitude + 0x1p-7 * std::fabs(expected);
}

void ExpectLikeTwin(const AttentionCase& c, float largest_logit = 6) {
  SCOPED_TRACE(testing::PrintToString(c));
  AttentionProblem problem(c);
  const std::vector<float> expected = problem.Reference(), magnitude = problem.Magnitude();
  ForEachImplementation(c.dtype, [&](const AttentionCall& run, const OpContext& ctx) {
    Tensor o = problem.Output();
    run(problem.Args(o), ctx);
    for (int64_t i = 0; i < o.elements(); ++i) {
      const double bound = Tolerance(c.dtype, largest_logit, expected[i], magnitude[i]);
      ASSERT_NEAR(AttentionProblem::Get(o, i), expected[i], bound)
          << "row " << i / (c.H * c.D) << " column " << i % (c.H * c.D);
    }
  });
}

class AttentionOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, AttentionOfType, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(AttentionOfType, RaggedQueries) {
  for (const int64_t L : {1, 2, 3, 15, 16, 17, 31, 33, 36, 47, 48, 49, 64, 70, 95, 96, 97, 130, 200}) {
    ExpectLikeTwin({.L = L, .D = 64, .cached = {37}, .current = {L}, .dtype = GetParam()});
  }
}

// On one thread, four heads suffice for blocks of as many queries as a kernel takes; elsewhere tests have
// smaller ones.
TEST_P(AttentionOfType, LargestBlocksOfQueries) {
  const int threads = MaxThreads();
  SetMaxThreads(1);
  for (const int64_t L : {65, 192, 193, 256, 300}) {
    for (const int64_t cached : {0, 40, 300}) {
      ExpectLikeTwin({.L = L, .H = 4, .D = 48, .cached = {cached}, .current = {30}, .dtype = GetParam()});
    }
  }
  SetMaxThreads(threads);
}

TEST_P(AttentionOfType, RaggedKeys) {
  for (const int64_t cached : {0, 1, 7, 16, 31, 127, 256, 257, 300}) {
    for (const int64_t current : {0, 1, 2, 5, 32, 63, 128, 300}) {
      ExpectLikeTwin({.L = 5, .D = 32, .cached = {cached}, .current = {current}, .dtype = GetParam()});
    }
  }
}

TEST_P(AttentionOfType, OneSegment) {
  ExpectLikeTwin({.L = 20, .D = 32, .cached = {45}, .dtype = GetParam()});
  ExpectLikeTwin({.L = 20, .D = 32, .current = {45}, .dtype = GetParam()});
}

TEST_P(AttentionOfType, HeadWidths) {
  for (const int64_t D : {2, 10, 16, 24, 30, 32, 48, 64, 80, 128, 224, 256}) {
    ExpectLikeTwin({.B = 1, .L = 50, .H = 2, .D = D, .cached = {70}, .current = {50}, .dtype = GetParam()});
  }
}

TEST(Attention, EveryInstructionSetIsTested) {
  std::string names;
  for (const Implementation& i : Implementations(DType::kBF16)) names += ' ' + i.name;
  EXPECT_THAT(names, testing::HasSubstr("SSSE3"));
  EXPECT_EQ(OpContext().isa >= Isa::kAvx2, names.find("AVX2") != names.npos) << names;
  EXPECT_EQ(OpContext().isa >= Isa::kAvx512Bf16, names.find(Name(Isa::kAvx512Bf16)) != names.npos) << names;
  EXPECT_EQ(OpContext().isa >= Isa::kAmxBf16, names.find(Name(Isa::kAmxBf16)) != names.npos) << names;
  RecordProperty("implementations", names);
}

TEST(Attention, RealTilesWhereTheMachineHasThem) {
  if (OpContext().isa < Isa::kAmxBf16) GTEST_SKIP() << "no AMX here: its kernel runs on emulated tiles only";
  ASSERT_TRUE(RequestAmxPermission());
  // One source on both, summing in the same order: at most the outputs' last bit may differ.
  for (const int64_t L : {1, 50, 130}) {
    AttentionProblem problem(
        {.L = L, .H = 2, .D = 48, .cached = {300}, .current = {L}, .dtype = DType::kBF16});
    const OpContext ctx;
    Tensor real = problem.Output(), emulated = problem.Output();
    attention::InBf16(problem.Args(real), ctx, attention::AmxKernel());
    RunEmulatedAmx(problem.Args(emulated), ctx);
    for (int64_t i = 0; i < real.elements(); ++i) {
      const float expected = AttentionProblem::Get(emulated, i);
      ASSERT_NEAR(AttentionProblem::Get(real, i), expected, 0x1p-7 * std::fabs(expected) + 1e-5) << i;
    }
  }
}

TEST(Attention, ReportsItsWork) {
  AttentionProblem problem({.B = 2, .L = 5, .H = 2, .D = 16, .cached = {1, 2, 3, 4}, .current = {5}});
  Profiler profiler;
  const OpContext ctx(Backend::kFast, nullptr, &profiler);
  Tensor o = problem.Output();
  Attention(problem.Args(o), ctx);
  const auto entry = profiler.entries().find("attention");
  ASSERT_NE(entry, profiler.entries().end());
  EXPECT_EQ(entry->second.flop, 4 * 5 * 16 * (1 + 2 + 3 + 4 + 4 * 5));
}

TEST(Attention, OddHeadWidth) { ExpectLikeTwin({.L = 9, .H = 2, .D = 5, .cached = {20}, .current = {9}}); }

TEST_P(AttentionOfType, HeadsOfDifferentLengths) {
  ExpectLikeTwin({.B = 3,
                  .L = 19,
                  .H = 3,
                  .D = 48,
                  .cached = {0, 600, 13, 64, 1, 130, 5, 77, 300},
                  .current = {19, 19, 19, 19, 0, 19, 31, 19, 2},
                  .dtype = GetParam()});
}

TEST_P(AttentionOfType, RandomSizes) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t lowest, int64_t highest) {
    return std::uniform_int_distribution<int64_t>(lowest, highest)(random);
  };
  for (unsigned i = 0; i < 40; ++i) {
    const int64_t widths[] = {16, 24, 32, 48, 64, 128, 224};
    AttentionCase c{.B = pick(1, 3),
                    .L = pick(1, 70),
                    .H = pick(1, 3),
                    .D = widths[pick(0, 6)],
                    .dtype = GetParam(),
                    .seed = i};
    for (int64_t bh = 0; bh < c.B * c.H; ++bh) {
      const int64_t keys = pick(1, 600), cached = pick(0, keys);
      c.cached.push_back(cached);
      c.current.push_back(keys - cached);
    }
    ExpectLikeTwin(c);
  }
}

TEST_P(AttentionOfType, NoKeysGiveZeros) {
  AttentionProblem problem(
      {.B = 1, .L = 3, .H = 2, .D = 32, .cached = {0, 4}, .current = {0, 0}, .dtype = GetParam()});
  ForEachImplementation(GetParam(), [&](const AttentionCall& run, const OpContext& ctx) {
    Tensor o = problem.Output();
    std::memset(o.view().raw(), 0xff, o.bytes());
    run(problem.Args(o), ctx);
    for (int64_t i = 0; i < o.elements(); ++i) {
      const bool first_head = i % 64 < 32;
      EXPECT_EQ(AttentionProblem::Get(o, i) == 0, first_head) << i;
    }
  });
}

// T5: no scale, a bias, logits up to about 100.
TEST(Attention, BiasAndLargeLogits) {
  for (const int64_t L : {1, 12, 77, 120}) {
    ExpectLikeTwin({.B = 2, .L = L, .H = 3, .D = 64, .current = {L}, .scale = 1, .bias = true, .q_factor = 3},
                   100);
  }
  ExpectLikeTwin({.L = 33, .H = 2, .D = 32, .cached = {300}, .current = {61}, .scale = 1, .bias = true}, 40);
}

// A few keys hold all the weight. Allowed: bf16's rounding (2^-8) of values up to 4.5, twice.
TEST_P(AttentionOfType, HugeLogitsStayFinite) {
  AttentionCase c{
      .L = 40, .D = 64, .cached = {500}, .current = {40}, .dtype = GetParam(), .scale = 1, .q_factor = 1000};
  AttentionProblem problem(c);
  const std::vector<float> expected = problem.Reference();
  ForEachImplementation(GetParam(), [&](const AttentionCall& run, const OpContext& ctx) {
    Tensor o = problem.Output();
    run(problem.Args(o), ctx);
    for (int64_t i = 0; i < o.elements(); ++i)
      ASSERT_NEAR(AttentionProblem::Get(o, i), expected[i], 0.04) << i;
  });
}

// The largest logits come last, so that each key block raises the maximum.
TEST_P(AttentionOfType, MaximumGrowsFromBlockToBlock) {
  AttentionCase c{.L = 50, .D = 32, .cached = {1000}, .dtype = GetParam(), .scale = 0.02f};
  AttentionProblem problem(c);
  Tensor &q = problem.q(), &k = problem.segment(0);
  for (int64_t i = 0; i < q.elements(); ++i)
    AttentionProblem::Set(q, i, std::fabs(AttentionProblem::Get(q, i)));
  for (int64_t i = 0; i < k.elements(); ++i) AttentionProblem::Set(k, i, static_cast<float>(i / 32) / 8 - 60);
  const std::vector<float> expected = problem.Reference(), magnitude = problem.Magnitude();
  ForEachImplementation(GetParam(), [&](const AttentionCall& run, const OpContext& ctx) {
    Tensor o = problem.Output();
    run(problem.Args(o), ctx);
    for (int64_t i = 0; i < o.elements(); ++i) {
      ASSERT_NEAR(AttentionProblem::Get(o, i), expected[i],
                  Tolerance(GetParam(), 60, expected[i], magnitude[i]))
          << i;
    }
  });
}

TEST_P(AttentionOfType, NegativeAndZeroScale) {
  ExpectLikeTwin({.L = 20, .D = 32, .cached = {45}, .dtype = GetParam(), .scale = -0.2f});
  AttentionCase zero{.L = 20, .D = 32, .cached = {45}, .dtype = GetParam(), .scale = 1e-30f};
  ExpectLikeTwin(zero);
}

// One NaN in q reaches its row alone; one in k or v reaches every row.
TEST_P(AttentionOfType, NanIsNotLost) {
  const AttentionCase c{.L = 20, .D = 32, .cached = {300}, .current = {20}, .dtype = GetParam()};
  const auto nan =
      std::bit_cast<float>(0x7fc00001u);  // one with low bits, which exponent arithmetic could make finite
  for (const int64_t key : {0, 1, 150, 255, 256, 298, 299}) {
    for (const int part : {-1, 0, 1}) {  // q, k, v
      AttentionProblem problem(c);
      const int64_t row = part < 0 ? key % 20 : key + 1;  // a segment's rows start at 1
      AttentionProblem::Set(part < 0 ? problem.q() : problem.segment(part), row * 32 + 5, nan);
      ForEachImplementation(GetParam(), [&](const AttentionCall& run, const OpContext& ctx) {
        Tensor o = problem.Output();
        run(problem.Args(o), ctx);
        for (int64_t i = 0; i < o.elements(); ++i) {
          const bool expected = part < 0 ? i / 32 == row : part == 0 || i % 32 == 5;
          ASSERT_EQ(std::isnan(AttentionProblem::Get(o, i)), expected)
              << "part " << part << " key " << key << " output " << i;
        }
      });
    }
  }
}

TEST_P(AttentionOfType, SameBitsForAnyThreadsAndBatch) {
  const AttentionCase c{.B = 3,
                        .L = 205,
                        .H = 2,
                        .D = 64,
                        .cached = {90, 400, 0, 33, 257, 1},
                        .current = {205},
                        .dtype = GetParam()};
  AttentionProblem problem(c);
  const int threads = MaxThreads();
  ForEachImplementation(GetParam(), [&](const AttentionCall& run, const OpContext& ctx) {
    SetMaxThreads(1);
    Tensor expected = problem.Output();
    run(problem.Args(expected), ctx);
    for (const int n : {2, 3, 5}) {
      SetMaxThreads(n);
      OpContext several;
      several.isa = ctx.isa;
      Tensor o = problem.Output();
      run(problem.Args(o), several);
      EXPECT_EQ(std::memcmp(o.view().raw(), expected.view().raw(), o.bytes()), 0) << n << " threads";
      Tensor alone = problem.Output();
      for (int64_t b = 0; b < c.B; ++b) run(problem.ArgsOfStream(b, alone), several);
      EXPECT_EQ(std::memcmp(alone.view().raw(), expected.view().raw(), o.bytes()), 0)
          << "streams alone, " << n << " threads";
    }
    SetMaxThreads(threads);
  });
}

// Where a key lies, cached or current, does not matter.
TEST_P(AttentionOfType, SameBitsForAnySplit) {
  AttentionCase whole{.L = 30, .D = 64, .cached = {333}, .dtype = GetParam()};
  AttentionProblem problem(whole);
  ForEachImplementation(GetParam(), [&](const AttentionCall& run, const OpContext& ctx) {
    Tensor expected = problem.Output();
    const AttentionArgs args = problem.Args(expected);
    run(args, ctx);
    const int64_t row = 64 * static_cast<int64_t>(SizeOf(GetParam()));
    for (const int64_t split : {1, 16, 35, 256, 300, 332}) {
      const HeadKv all = args.cached_BH[0];
      const HeadKv first{all.k, all.v, split};
      const HeadKv rest{static_cast<const std::byte*>(all.k) + split * row,
                        static_cast<const std::byte*>(all.v) + split * row, 333 - split};
      Tensor o = problem.Output();
      AttentionArgs parts = problem.Args(o);
      parts.cached_BH = {&first, 1};
      parts.current_BH = {&rest, 1};
      run(parts, ctx);
      EXPECT_EQ(std::memcmp(o.view().raw(), expected.view().raw(), o.bytes()), 0) << "split at " << split;
    }
  });
}

}  // namespace
}  // namespace nextscale
