// The published decoder (d32: 128 channels, levels 1 2 4 4 4, stride 16) with random weights: time, GFLOP/s
// and share of the matrix peak measured around each run, and memory against the plan.
//   vae_bench [--dtype bf16|f32] [--repetitions N] [PIXELS ...]     default: bf16, 3, 256 1024
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "model/random_vae.h"
#include "ops/machine_peak.h"

namespace nextscale {
namespace {

const VaeConfig kPublished = {
    .bits = 32, .base_channels = 128, .multipliers = {1, 2, 4, 4, 4}, .decoder_res_blocks = 3};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Settings {
  DType dtype = DType::kBF16;
  int repetitions = 3;
  std::vector<int64_t> pixels = {256, 1024};
};

double Flop(const Profiler& profiler) { return profiler.entries().at("conv2d").flop; }

double DecodeSeconds(const Vae& vae, int64_t side, const OpContext& ctx) {
  Tensor latent(DType::kF32, {kPublished.bits, side, side}, {});
  std::minstd_rand generator(1);
  const float code = 1.0f / std::sqrt(static_cast<float>(kPublished.bits));
  for (int64_t i = 0; i < latent.elements(); ++i) latent.data<float>()[i] = generator() & 1 ? code : -code;
  const int64_t pixels = side * kPublished.stride();
  Tensor image(DType::kF32, {3, pixels, pixels}, {});
  const auto start = std::chrono::steady_clock::now();
  const Status status = vae.Decode(latent.view(), image.view(), ctx);
  NS_CHECK(status.ok(), "{}", ErrorText(status));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void PrintRow(const RandomVae& source, const Settings& settings, int64_t pixels) {
  MemoryLedger ledger;
  Profiler profiler;
  const OpContext ctx(Backend::kFast, &ledger, &profiler);
  const auto vae = Vae::Load(source, settings.dtype, VaeParts::kDecoder, ctx);
  NS_CHECK(vae.ok(), "{}", ErrorText(vae.status()));
  const int64_t side = pixels / kPublished.stride();
  std::vector<double> seconds, shares, peaks;
  // The machine is shared: each run is compared with the peak just before and just after it.
  double before = MeasureMachinePeak(5).of(settings.dtype).median;
  for (int i = 0; i < settings.repetitions; ++i) {
    profiler.Clear();
    seconds.push_back(DecodeSeconds(**vae, side, ctx));
    const double after = MeasureMachinePeak(5).of(settings.dtype).median;
    peaks.push_back((before + after) / 2);
    shares.push_back(Flop(profiler) / seconds.back() / 1e9 / peaks.back());
    before = after;
  }
  constexpr double kMiB = 1 << 20;
  const int64_t plan = VaeDecodeWorkingBytes(kPublished, {side, side}, settings.dtype, MaxThreads());
  const int64_t held = ledger.peak(Account::kActivations) + ledger.current(Account::kScratch);
  fmt::print("{:>6} {:>5} {:>8.3f} {:>7.3f} {:>8.0f} {:>8.0f} {:>6.1f}% {:>9.1f} {:>9.1f} {:>9.1f}\n", pixels,
             Name(settings.dtype), Median(seconds), Flop(profiler) / 1e12,
             Flop(profiler) / Median(seconds) / 1e9, Median(peaks), 100 * Median(shares), held / kMiB,
             plan / kMiB, (*vae)->weight_bytes() / kMiB);
}

}  // namespace
}  // namespace nextscale

int main(int argc, char** argv) {
  using namespace nextscale;
  Settings settings;
  std::string dtype = "bf16";
  CLI::App app("VAE decoder bench");
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"bf16", "f32"}));
  app.add_option("--repetitions", settings.repetitions)->check(CLI::Range(1, 100));
  app.add_option("pixels", settings.pixels, "side of the picture, multiples of 16")
      ->check(CLI::Range(16, 4096));
  CLI11_PARSE(app, argc, argv);
  settings.dtype = dtype == "f32" ? DType::kF32 : DType::kBF16;

  fmt::print("{}, {} threads; memory in MiB, medians of {}\n", ProcessorDescription(), MaxThreads(),
             settings.repetitions);
  fmt::print("{:>6} {:>5} {:>8} {:>7} {:>8} {:>8} {:>7} {:>9} {:>9} {:>9}\n", "pixels", "type", "seconds",
             "TFLOP", "GFLOP/s", "peak", "share", "held", "plan", "weights");
  const RandomVae source(kPublished);
  for (int64_t pixels : settings.pixels) PrintRow(source, settings, pixels);
}
