// Linear layers of Infinity-2B (C 2048, F 8192; 16x16, 32x32 and 64x64 maps, two streams) and of single
// tokens, against the machine's matrix peak measured beside each of them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "ops/machine_peak.h"
#include "ops/matmul.h"

namespace nextscale {
namespace {

constexpr int64_t kStreams = 2;

Status ReadSmallNumbers(int64_t begin, int64_t end, DType dtype, void* to, int64_t K) {
  std::vector<float> row(K);
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t k = 0; k < K; ++k) row[k] = static_cast<float>((r * 7 + k * 3) % 17 - 8) / 64;
    ConvertFloats(row.data(), DType::kF32,
                  static_cast<std::byte*>(to) + (r - begin) * K * static_cast<int64_t>(SizeOf(dtype)), dtype,
                  K);
  }
  return Status();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class F>
double Seconds(const F& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Arguments: rows of a stream, N, K, bf16, activation.
void BM_Linear(benchmark::State& state) {
  const int64_t L = state.range(0), N = state.range(1), K = state.range(2);
  const DType dtype = state.range(3) ? DType::kBF16 : DType::kF32;
  const OpContext ctx;
  const RowReader read = [K](int64_t begin, int64_t end, DType type, void* to) {
    return ReadSmallNumbers(begin, end, type, to, K);
  };
  const std::vector<float> bias(N, 0.5f);
  const LinearWeights weights = LinearWeights::Pack(N, K, dtype, read, bias, ctx).value();
  Tensor x(dtype, {kStreams * L, K}, {}), y(dtype, {kStreams * L, N}, {});
  ReadSmallNumbers(0, kStreams * L, dtype, x.view().raw(), K).IgnoreError();
  const LinearArgs args = {.x = x.view(),
                           .y = y.view(),
                           .rows_per_stream = L,
                           .activation = static_cast<Activation>(state.range(4))};
  Linear(weights, args, ctx);
  const double gflop = 2e-9 * static_cast<double>(kStreams * L) * static_cast<double>(N * K);
  const DType operand = HasFastBf16(ctx.isa) ? dtype : DType::kF32;
  std::vector<double> rates, shares;
  for (auto _ : state) {
    const double peak = MeasureMatrixRate(operand, 1).best;
    const double seconds = Seconds([&] { Linear(weights, args, ctx); });
    state.SetIterationTime(seconds);
    rates.push_back(gflop / seconds);
    shares.push_back(rates.back() / peak * 100);
  }
  state.counters["GFLOP/s"] = Median(rates);
  state.counters["% of peak"] = Median(shares);
  state.counters["GB/s of W"] = Median(rates) / gflop * static_cast<double>(weights.bytes()) / 1e9;
  state.SetLabel(ProcessorDescription());
}

void Cases(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"L", "N", "K", "bf16", "act"})->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const int64_t L : {1, 16, 64, 256, 1024, 4096}) {
    bench->Args({L, 6144, 2048, 1, 0});
    bench->Args({L, 2048, 2048, 1, 0});
    bench->Args({L, 8192, 2048, 1, static_cast<int64_t>(Activation::kGeluTanh)});
    bench->Args({L, 2048, 8192, 1, 0});
  }
  bench->Args({256, 2048, 2048, 0, 0});
  bench->Args({1024, 2048, 2048, 0, 0});
}
BENCHMARK(BM_Linear)->Apply(Cases)->Iterations(7);

// Arguments: N, K, bf16. Rows come from memory, as from a file in the page cache.
void BM_Pack(benchmark::State& state) {
  const int64_t N = state.range(0), K = state.range(1);
  const DType dtype = state.range(2) ? DType::kBF16 : DType::kF32;
  const OpContext ctx;
  Tensor rows(dtype, {N, K}, {});
  ReadSmallNumbers(0, N, dtype, rows.view().raw(), K).IgnoreError();
  const RowReader copy = [&](int64_t begin, int64_t end, DType, void* to) {
    const ConstView part = static_cast<const Tensor&>(rows).view().Rows(begin, end - begin);
    ConvertFloats(part.raw(), dtype, to, dtype, part.elements());
    return Status();
  };
  LinearWeights weights = LinearWeights::Pack(N, K, dtype, copy, {}, ctx).value();
  for (auto _ : state) weights.Repack(copy, {}, ctx).IgnoreError();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(rows.bytes()));
}
BENCHMARK(BM_Pack)
    ->ArgNames({"N", "K", "bf16"})
    ->Args({6144, 2048, 1})
    ->Args({2048, 8192, 1})
    ->Args({6144, 2000, 1})
    ->Args({2048, 2048, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nextscale

BENCHMARK_MAIN();
