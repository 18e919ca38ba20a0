// Linear layers against their scalar twin: ragged shapes, both types, every epilogue; and the promise of the
// same bits for any number of threads and streams.
#include "ops/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "ops/machine_peak.h"

namespace nextscale {
namespace {

struct Case {
  int64_t streams, L, N, K;
  DType dtype = DType::kF32, y_type = DType::kF32;
  Activation activation = Activation::kNone;
  bool bias = false, gate = false, shared_gate = false, accumulate = false;
};

std::string Describe(const Case& c) {
  return fmt::format("B {} L {} N {} K {} {} to {} activation {} bias {} gate {} shared {} accumulate {}",
                     c.streams, c.L, c.N, c.K, Name(c.dtype), Name(c.y_type), static_cast<int>(c.activation),
                     c.bias, c.gate, c.shared_gate, c.accumulate);
}

Tensor Random(DType dtype, Shape shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(shape.elements());
  for (float& v : values) v = normal(random);
  Tensor tensor(dtype, shape, {});
  ConvertFloats(values.data(), DType::kF32, tensor.view().raw(), dtype, shape.elements());
  return tensor;
}

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  ConvertFloats(tensor.view().raw(), tensor.dtype(), values.data(), DType::kF32, tensor.elements());
  return values;
}

RowReader ReaderOf(const Tensor& W) {
  return [&W](int64_t begin, int64_t end, DType dtype, void* to) {
    const ConstView rows = W.view().Rows(begin, end - begin);
    ConvertFloats(rows.raw(), rows.dtype(), to, dtype, rows.elements());
    return Status();
  };
}

// The inputs of a case.
struct Problem {
  explicit Problem(const Case& c)
      : c(c),
        x(Random(c.dtype, {c.streams * c.L, c.K}, 1)),
        W(Random(c.dtype, {c.N, c.K}, 2)),
        bias(Random(DType::kF32, {c.N}, 3)),
        gate(Random(DType::kF32, {c.streams, c.N}, 4)),
        y_before(Random(c.y_type, {c.streams * c.L, c.N}, 5)) {}

  std::span<const float> bias_span() const {
    return c.bias ? std::span<const float>(bias.data<float>(), c.N) : std::span<const float>();
  }
  LinearWeights Pack(const OpContext& ctx) const {
    return LinearWeights::Pack(c.N, c.K, c.dtype, ReaderOf(W), bias_span(), ctx).value();
  }
  // Streams [first, first + streams) alone.
  Tensor Run(const LinearWeights& weights, const OpContext& ctx, int64_t first, int64_t streams) const {
    const ConstView old = y_before.view().Rows(first * c.L, streams * c.L);
    Tensor y(c.y_type, old.shape(), {});
    std::memcpy(y.view().raw(), old.raw(), y.bytes());
    Linear(weights,
           {.x = x.view().Rows(first * c.L, streams * c.L),
            .y = y.view(),
            .rows_per_stream = c.L,
            .activation = c.activation,
            .gate_BN = c.gate ? gate.data<float>() + (c.shared_gate ? 0 : first * c.N) : nullptr,
            .gate_stride = c.shared_gate ? 0 : c.N,
            .accumulate = c.accumulate},
           ctx);
    return y;
  }
  Tensor Run(Backend backend) const {
    const OpContext ctx(backend);
    return Run(Pack(ctx), ctx, 0, c.streams);
  }

  Case c;
  Tensor x, W, bias, gate, y_before;
};

void CompareWithTwin(const Case& c) {
  const Problem problem(c);
  const std::vector<float> want = Floats(problem.Run(Backend::kReference));
  const std::vector<float> got = Floats(problem.Run(Backend::kFast));
  // Products of bf16 are exact in f32, so in both types only f32's rounding of K sums of terms of size one
  // differs (the error of a sum grows as its root): 1e-6 for each of up to sqrt(K) roundings. A result in
  // bf16 may fall on the other side of a rounding: a step is up to 2^-7 of itself.
  const double sum_error = 1e-6 * std::sqrt(static_cast<double>(c.K)) * 4;
  const double rounding = c.y_type == DType::kBF16 ? 1.0 / 128 : 2e-6;
  for (size_t i = 0; i < want.size(); ++i) {
    // A gate, of size 4 at most, multiplies the error of a sum; an activation's slope is below 1.2.
    ASSERT_NEAR(got[i], want[i], 5 * sum_error + rounding * std::abs(want[i]))
        << Describe(c) << ", element " << i;
  }
}

TEST(LinearTest, MatchesTwinForRaggedShapes) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int64_t L : {1, 3, 17, 33, 100, 257}) {
      for (const int64_t N : {1, 6, 48, 257}) {
        for (const int64_t K : {1, 6, 24, 33, 48, 257}) {
          CompareWithTwin({.streams = 2, .L = L, .N = N, .K = K, .dtype = dtype, .bias = true});
        }
      }
    }
  }
}

TEST(LinearTest, MatchesTwinForWholeAndRaggedTiles) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int64_t L : {64, 256, 300, 530}) {
      for (const int64_t N : {256, 512, 600}) {
        CompareWithTwin({.streams = 1, .L = L, .N = N, .K = 512, .dtype = dtype});
      }
    }
    CompareWithTwin({.streams = 1, .L = 33, .N = 100, .K = 4100, .dtype = dtype});
  }
}

TEST(LinearTest, MatchesTwinForEveryEpilogue) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const Activation activation : {Activation::kNone, Activation::kGeluTanh, Activation::kSilu}) {
      for (int flags = 0; flags < 32; ++flags) {
        Case c = {.streams = 3, .L = 19, .N = 301, .K = 40, .dtype = dtype, .activation = activation};
        c.bias = flags & 1;
        c.gate = flags & 2;
        c.shared_gate = flags & 4;
        c.accumulate = flags & 8;
        c.y_type = flags & 16 ? DType::kBF16 : DType::kF32;
        if (c.accumulate && c.y_type != DType::kF32) continue;
        CompareWithTwin(c);
      }
    }
  }
}

TEST(LinearTest, ActivationsAreExactToF32) {
  // y = activation(x) over what layers meet, by W = 1: golden tensors allow 5e-5 of the largest value.
  constexpr int64_t kRows = 4001;
  Tensor x(DType::kF32, {kRows, 1}, {}), W(DType::kF32, {1, 1}, {});
  W.data<float>()[0] = 1.0f;
  for (int64_t i = 0; i < kRows; ++i) x.data<float>()[i] = static_cast<float>(i - 2000) * 0.01f;
  for (const Activation activation : {Activation::kGeluTanh, Activation::kSilu}) {
    std::vector<float> y[2];
    for (const Backend backend : {Backend::kReference, Backend::kFast}) {
      const OpContext ctx(backend);
      const LinearWeights weights = LinearWeights::Pack(1, 1, DType::kF32, ReaderOf(W), {}, ctx).value();
      Tensor out(DType::kF32, {kRows, 1}, {});
      Linear(weights, {.x = x.view(), .y = out.view(), .rows_per_stream = kRows, .activation = activation},
             ctx);
      y[backend == Backend::kFast] = Floats(out);
    }
    for (int64_t i = 0; i < kRows; ++i) {
      // exp is good to 2e-7, its argument (to 40) to 6e-8 of itself: together 3e-6 of the result, and far in
      // the negative less than 1e-7 of what is absent.
      EXPECT_NEAR(y[1][i], y[0][i], 3e-6 * std::abs(y[0][i]) + 1e-7) << "x " << x.data<float>()[i];
    }
  }
}

class Threads {
 public:
  explicit Threads(int n) : before_(MaxThreads()) { SetMaxThreads(n); }
  ~Threads() { SetMaxThreads(before_); }

 private:
  int before_;
};

void ExpectSameBits(const Tensor& got, ConstView want, const std::string& what) {
  EXPECT_EQ(std::memcmp(got.view().raw(), want.raw(), got.bytes()), 0) << what;
}

TEST(LinearTest, SameBitsForAnyThreadsAndStreams) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int64_t L : {1, 17, 64, 257, 600}) {
      const Case c = {.streams = 3,
                      .L = L,
                      .N = 600,
                      .K = 1111,
                      .dtype = dtype,
                      .activation = Activation::kGeluTanh,
                      .bias = true,
                      .gate = true,
                      .accumulate = true};
      const Problem problem(c);
      Tensor all;
      {
        const Threads one(1);
        const OpContext ctx;
        all = problem.Run(problem.Pack(ctx), ctx, 0, 3);
      }
      for (const int threads : {1, 2, 3}) {
        const Threads several(threads);
        const OpContext ctx;
        const LinearWeights weights = problem.Pack(ctx);
        ExpectSameBits(problem.Run(weights, ctx, 0, 3), all.view(), Describe(c) + " threads");
        for (int64_t stream = 0; stream < 3; ++stream) {
          ExpectSameBits(problem.Run(weights, ctx, stream, 1), all.view().Rows(stream * L, L),
                         Describe(c) + " one stream");
        }
      }
    }
  }
}

// Products read whole vectors and pad K with zeros: what lies beside a row must not get in as 0 * NaN.
TEST(LinearTest, ANanStaysInItsRow) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int64_t K : {1, 6, 33, 48, 130}) {
      Problem problem({.streams = 1, .L = 40, .N = 70, .K = K, .dtype = dtype});
      const std::vector<float> row(K, std::nanf(""));
      ConvertFloats(row.data(), DType::kF32, problem.x.view().Rows(20, 1).raw(), dtype, K);
      const std::vector<float> y = Floats(problem.Run(Backend::kFast));
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(std::isnan(y[i]), i / 70 == 20) << Name(dtype) << " K " << K << ", element " << i;
      }
    }
  }
}

TEST(LinearTest, RepackReplacesWeightsInPlace) {
  const OpContext ctx;
  const Problem a({.streams = 1, .L = 5, .N = 300, .K = 70, .dtype = DType::kBF16, .bias = true});
  Problem b = Problem(a.c);
  b.W = Random(DType::kBF16, {300, 70}, 77);
  b.bias = Random(DType::kF32, {300}, 78);
  LinearWeights weights = a.Pack(ctx);
  const std::byte* memory = weights.packed().view().raw();
  ASSERT_TRUE(weights.Repack(ReaderOf(b.W), b.bias_span(), ctx).ok());
  EXPECT_EQ(weights.packed().view().raw(), memory);
  ExpectSameBits(b.Run(weights, ctx, 0, 1), b.Run(b.Pack(ctx), ctx, 0, 1).view(), "repacked");
}

TEST(LinearTest, HoldsThePlannedBytesOnItsAccount) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    MemoryLedger ledger;
    const OpContext ctx(Backend::kFast, &ledger);
    const Problem problem({.streams = 1, .L = 1, .N = 515, .K = 130, .dtype = dtype, .bias = true});
    const LinearWeights weights = problem.Pack(ctx);
    EXPECT_EQ(static_cast<int64_t>(weights.bytes()), PackedLinearBytes(515, 130, dtype, true));
    EXPECT_EQ(ledger.current(Account::kWeights), PackedLinearBytes(515, 130, dtype, true));
  }
}

TEST(LinearTest, PackReadsEachRowOnceAndReturnsTheReadersError) {
  const OpContext ctx;
  std::vector<int> reads(1000);
  const RowReader count = [&](int64_t begin, int64_t end, DType, void* to) {
    for (int64_t r = begin; r < end; ++r) ++reads[r];
    std::memset(to, 0, (end - begin) * 8 * sizeof(float));
    return Status();
  };
  ASSERT_TRUE(LinearWeights::Pack(1000, 8, DType::kF32, count, {}, ctx).ok());
  EXPECT_EQ(reads, std::vector<int>(1000, 1));

  const RowReader broken = [](int64_t begin, int64_t, DType, void*) {
    return begin >= 256 ? FileError("rows are missing") : Status();
  };
  const auto result = LinearWeights::Pack(1000, 8, DType::kF32, broken, {}, ctx);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status(), FileError("rows are missing"));
}

TEST(LinearTest, CountsItsWork) {
  Profiler profiler;
  const OpContext ctx(Backend::kFast, nullptr, &profiler);
  const Problem problem({.streams = 2, .L = 5, .N = 30, .K = 7});
  problem.Run(problem.Pack(ctx), ctx, 0, 2);
  EXPECT_EQ(profiler.entries().at("linear").flop, 2.0 * 10 * 30 * 7);
}

TEST(MachinePeakTest, IsPositiveAndOrdered) {
  const MachinePeak peak = MeasureMachinePeak(3);
  EXPECT_GT(peak.f32.median, 0);
  EXPECT_GE(peak.f32.best, peak.f32.median);
  EXPECT_GT(peak.of(DType::kBF16).median, 0);
}

}  // namespace
}  // namespace nextscale
