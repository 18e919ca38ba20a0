// Attention at the sizes of the models' scales: GFLOP/s (4 L S D H B) and the share of this machine's matrix
// peak in the same type, measured next to each case. Run with --benchmark_repetitions=1 for a quick look.
#include <benchmark/benchmark.h>

#include <chrono>

#include "ops/attention.h"
#include "ops/attention_problem.h"
#include "ops/machine_peak.h"

namespace nextscale {
namespace {

struct Row {
  const char* name;
  AttentionCase problem;
};
std::vector<Row> Rows() {
  const DType bf16 = DType::kBF16;
  return {
      {"self/64x64",
       {.B = 2, .L = 4096, .H = 2, .D = 128, .cached = {6425}, .current = {4096}, .dtype = bf16}},
      {"self/32x32",
       {.B = 2, .L = 1024, .H = 2, .D = 128, .cached = {1976}, .current = {1024}, .dtype = bf16}},
      {"self/16x16", {.B = 2, .L = 256, .H = 4, .D = 128, .cached = {265}, .current = {256}, .dtype = bf16}},
      {"self/pruned",
       {.B = 2, .L = 614, .H = 4, .D = 128, .cached = {1497}, .current = {614}, .dtype = bf16}},
      {"self/8x8", {.B = 2, .L = 64, .H = 16, .D = 128, .cached = {57}, .current = {64}, .dtype = bf16}},
      {"self/6x6", {.B = 2, .L = 36, .H = 16, .D = 128, .cached = {55}, .current = {36}, .dtype = bf16}},
      {"self/D64", {.B = 2, .L = 1024, .H = 4, .D = 64, .cached = {1976}, .current = {1024}, .dtype = bf16}},
      {"cross/64_keys", {.B = 2, .L = 4096, .H = 4, .D = 128, .cached = {64}, .dtype = bf16}},
      {"self/f32", {.B = 2, .L = 1024, .H = 2, .D = 128, .cached = {1976}, .current = {1024}}},
  };
}

void Run(benchmark::State& state, const AttentionCase& c) {
  const AttentionProblem problem(c);
  Tensor o = problem.Output();
  const AttentionArgs args = problem.Args(o);
  const OpContext ctx;
  const double peak = MeasureMachinePeak(3).of(c.dtype).median;
  Attention(args, ctx);  // grows the scratch
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) Attention(args, ctx);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  int64_t keys = 0;
  for (const auto& lengths : {c.cached, c.current}) keys += lengths.empty() ? 0 : lengths[0];
  const double gflop = 4e-9 * static_cast<double>(c.L * keys * c.D * c.H * c.B * state.iterations());
  state.counters["GFLOP/s"] = gflop / seconds.count();
  state.counters["peak"] = peak;
  state.counters["%peak"] = 100 * gflop / seconds.count() / peak;
}

}  // namespace
}  // namespace nextscale

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("processor", nextscale::ProcessorDescription());
  for (const nextscale::Row& row : nextscale::Rows()) {
    benchmark::RegisterBenchmark(
        row.name, [problem = row.problem](benchmark::State& state) { nextscale::Run(state, problem); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond)
        ->Repetitions(5)
        ->ReportAggregatesOnly();
  }
  benchmark::RunSpecifiedBenchmarks();
}
