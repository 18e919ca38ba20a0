// The ops that are bound by memory, as bytes/s over what each has to read and write, beside a plain copy in
// the same run. Rows are those of two streams of a 2B block: 2 * L of width 2048.
#include <benchmark/benchmark.h>

#include <cstring>

#include "ops/activation.h"
#include "ops/ada_norm.h"
#include "ops/norm.h"
#include "ops/resample.h"
#include "ops/rope2d.h"
#include "ops/row_problem.h"
#include "ops/sample.h"

namespace nextscale {
namespace {

constexpr int64_t kStreams = 2, kWidth = 2048, kHeads = 16, kHeadWidth = 128, kFfn = 5632;

void SetBytes(benchmark::State& state, int64_t bytes) { state.SetBytesProcessed(state.iterations() * bytes); }

int64_t Bytes(std::initializer_list<const Tensor*> tensors) {
  int64_t bytes = 0;
  for (const Tensor* t : tensors) bytes += static_cast<int64_t>(t->bytes());
  return bytes;
}

Tensor Rows(DType type, int64_t L, int64_t width) {
  return RandomTensor({kStreams * L, width}, type, 0.0f, 1.0f, 1);
}

void Copy(benchmark::State& state) {
  const Tensor x = Rows(DType::kF32, state.range(0), kWidth);
  Tensor y(DType::kF32, x.shape(), {});
  const int64_t chunk = 1 << 16, n = static_cast<int64_t>(x.bytes()) / chunk;
  for (auto _ : state)
    ParallelFor(n, [&](int64_t i, int) {
      std::memcpy(y.view().raw() + i * chunk, x.view().raw() + i * chunk, chunk);
    });
  SetBytes(state, Bytes({&x, &y}));
}

void BenchAdaNorm(benchmark::State& state) {
  const OpContext ctx;
  const int64_t L = state.range(0);
  const Tensor x = Rows(DType::kF32, L, kWidth);
  Tensor y(DType::kBF16, x.shape(), {});
  const std::vector<float> ada = RandomFloats(kStreams * 6 * kWidth, 2);
  for (auto _ : state) {
    benchmark::DoNotOptimize(AdaNorm({.x = x.view(),
                                      .y = y.view(),
                                      .rows_per_stream = L,
                                      .scale_BC = ada.data(),
                                      .shift_BC = ada.data() + kWidth,
                                      .stream_stride = 6 * kWidth},
                                     ctx));
  }
  SetBytes(state, Bytes({&x, &y}));
}

void BenchLayerNorm(benchmark::State& state) {
  const OpContext ctx;
  const Tensor x = Rows(DType::kF32, state.range(0), kWidth);
  Tensor y(DType::kBF16, x.shape(), {});
  const std::vector<float> weight = RandomFloats(kWidth, 2), bias = RandomFloats(kWidth, 3);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        LayerNorm({.x = x.view(), .y = y.view(), .weight = weight.data(), .bias = bias.data()}, ctx));
  SetBytes(state, Bytes({&x, &y}));
}

void BenchRmsNorm(benchmark::State& state) {
  const OpContext ctx;
  const Tensor x = Rows(DType::kF32, state.range(0), kWidth);
  Tensor y(DType::kBF16, x.shape(), {});
  const std::vector<float> weight = RandomFloats(kWidth, 2);
  for (auto _ : state) benchmark::DoNotOptimize(RmsNorm(x.view(), y.view(), weight.data(), 1e-6f, ctx));
  SetBytes(state, Bytes({&x, &y}));
}

void BenchSplitQkv(benchmark::State& state, DType type) {
  const OpContext ctx;
  const int64_t L = state.range(0);
  const Tensor qkv = Rows(type, L, 3 * kWidth);
  const Shape heads{kStreams, kHeads, L, kHeadWidth};
  Tensor q(type, {kStreams * L, kWidth}, {}), k(type, heads, {}), v(type, heads, {});
  const std::vector<float> scale(kHeads, 4.0f);
  const RopeTable rope = BuildRopeTable({8, L / 8}, {64, 64}, kHeadWidth, RopeKind::kNormalized, {});
  for (auto _ : state) {
    SplitQkv({.qkv = qkv.view(),
              .q = q.view(),
              .k = k.view(),
              .v = v.view(),
              .B = kStreams,
              .L = L,
              .H = kHeads,
              .D = kHeadWidth,
              .q_scale_H = scale.data(),
              .rope = &rope},
             ctx);
  }
  SetBytes(state, Bytes({&qkv, &q, &k, &v}));
}

void BenchGated(benchmark::State& state, void (*op)(ConstView, ConstView, View, const OpContext&)) {
  const OpContext ctx;
  const Tensor gate = Rows(DType::kBF16, state.range(0), kFfn);
  Tensor x = Rows(DType::kBF16, state.range(0), kFfn);
  for (auto _ : state) op(gate.view(), x.view(), x.view(), ctx);
  SetBytes(state, Bytes({&gate, &x, &x}));
}

void BenchAddRow(benchmark::State& state) {
  const OpContext ctx;
  Tensor x = Rows(DType::kF32, state.range(0), kWidth);
  const std::vector<float> row(kWidth, 1e-6f);
  for (auto _ : state) AddRow(x.view(), row.data(), ctx);
  SetBytes(state, Bytes({&x, &x}));
}

void BenchMixInPlace(benchmark::State& state) {
  const OpContext ctx;
  const int64_t L = state.range(0);
  Tensor x = Rows(DType::kF32, L, kWidth);
  for (auto _ : state) MixInPlace(x.view().Rows(0, L), x.view().Rows(L, L), 0.5f, ctx);
  SetBytes(state, Bytes({&x, &x}));
}

void BenchCast(benchmark::State& state) {
  const OpContext ctx;
  const Tensor x = Rows(DType::kF32, state.range(0), kWidth);
  Tensor y(DType::kBF16, x.shape(), {});
  for (auto _ : state) Cast(x.view(), y.view(), ctx);
  SetBytes(state, Bytes({&x, &y}));
}

void BenchResize(benchmark::State& state, void (*op)(ConstView, View, const OpContext&), int64_t from,
                 int64_t to) {
  const OpContext ctx;
  const Tensor x = RandomTensor({32, from, from}, DType::kF32, 0.0f, 1.0f, 1);
  Tensor y(DType::kF32, {32, to, to}, {});
  for (auto _ : state) op(x.view(), y.view(), ctx);
  SetBytes(state, Bytes({&x, &y}));
}

void BenchGuideLogits(benchmark::State& state) {
  const OpContext ctx;
  const Tensor cond = RandomTensor({4096, 64}, DType::kF32, 0.0f, 1.0f, 1),
               uncond = RandomTensor({4096, 64}, DType::kF32, 0.0f, 1.0f, 2);
  Tensor out(DType::kF32, cond.shape(), {});
  for (auto _ : state) GuideLogits(cond.view(), uncond.view(), 3.0f, 0.7f, out.view(), ctx);
  SetBytes(state, Bytes({&cond, &uncond, &out}));
}

void BenchSamplePhilox(benchmark::State& state) {
  const OpContext ctx;
  const Tensor logits = RandomTensor({4096, 64}, DType::kF32, 0.0f, 2.0f, 1);
  Tensor bits(DType::kU8, {4096, 32}, {});
  for (auto _ : state)
    SamplePhilox({.logits = logits.view(), .bits = bits.view(), .map = {64, 64}, .seed = 1}, ctx);
  SetBytes(state, Bytes({&logits, &bits}));
}

void OfTheLastScales(benchmark::internal::Benchmark* b) {
  b->Arg(64)->Arg(1024)->Arg(4096)->UseRealTime()->Unit(benchmark::kMicrosecond);
}
void Once(benchmark::internal::Benchmark* b) { b->UseRealTime()->Unit(benchmark::kMicrosecond); }

BENCHMARK(Copy)->Apply(OfTheLastScales);
BENCHMARK(BenchAdaNorm)->Apply(OfTheLastScales);
BENCHMARK(BenchLayerNorm)->Apply(OfTheLastScales);
BENCHMARK(BenchRmsNorm)->Apply(OfTheLastScales);
BENCHMARK_CAPTURE(BenchSplitQkv, bf16, DType::kBF16)->Apply(OfTheLastScales);
BENCHMARK_CAPTURE(BenchSplitQkv, f32, DType::kF32)->Apply(OfTheLastScales);
BENCHMARK_CAPTURE(BenchGated, silu, SiluMul)->Apply(OfTheLastScales);
BENCHMARK_CAPTURE(BenchGated, gelu, GeluMul)->Apply(OfTheLastScales);
BENCHMARK(BenchAddRow)->Apply(OfTheLastScales);
BENCHMARK(BenchMixInPlace)->Apply(OfTheLastScales);
BENCHMARK(BenchCast)->Apply(OfTheLastScales);
BENCHMARK_CAPTURE(BenchResize, bilinear_48_to_64, ResizeBilinear, 48, 64)->Apply(Once);
BENCHMARK_CAPTURE(BenchResize, bilinear_64_to_48, ResizeBilinear, 64, 48)->Apply(Once);
BENCHMARK_CAPTURE(BenchResize, area_64_to_48, ResizeArea, 64, 48)->Apply(Once);
BENCHMARK(BenchGuideLogits)->Apply(Once);
BENCHMARK(BenchSamplePhilox)->Apply(Once);

}  // namespace
}  // namespace nextscale

BENCHMARK_MAIN();
