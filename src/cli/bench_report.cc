#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace nextscale {
namespace {

using json = nlohmann::ordered_json;

constexpr double kMiB = 1024.0 * 1024.0, kGiga = 1e9, kTera = 1e12;

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

Profiler::Entry EntryOf(const ProfileEntries& ops, std::string_view name) {
  const auto it = ops.find(name);
  return it == ops.end() ? Profiler::Entry() : it->second;
}

// Rate of an op and its share of the peak.
struct Rate {
  double gflops = 0, peak_percent = 0;
};
Rate RateOf(double flop, double seconds, double peak) {
  const double rate = Ratio(flop, seconds);
  return {rate / kGiga, 100 * Ratio(rate, peak)};
}

double RestPercent(const BenchScale& s) {
  const double known = EntryOf(s.ops, "linear").seconds + EntryOf(s.ops, "attention").seconds;
  return 100 * Ratio(s.seconds - known, s.seconds);
}

json EntriesJson(const ProfileEntries& ops) {
  json out = json::object();
  for (const auto& [name, e] : ops) {
    out[name] = {{"seconds", e.seconds}, {"calls", e.calls}, {"gflops", Ratio(e.flop, e.seconds) / kGiga}};
  }
  return out;
}

json StageJson(const BenchStage& stage, double peak) {
  const Rate rate = RateOf(stage.flop, stage.seconds, peak);
  return {{"load_seconds", stage.load_seconds}, {"seconds", stage.seconds},
          {"tflop", stage.flop / kTera},        {"gflops", rate.gflops},
          {"peak_percent", rate.peak_percent},  {"ops", EntriesJson(stage.ops)}};
}

json ScaleJson(const BenchScale& s, double peak) {
  const Profiler::Entry linear = EntryOf(s.ops, "linear"), attention = EntryOf(s.ops, "attention");
  const Rate l = RateOf(linear.flop, linear.seconds, peak),
             a = RateOf(attention.flop, attention.seconds, peak);
  return {{"scale", s.scale},
          {"map", {s.map.h, s.map.w}},
          {"tokens", s.map.tokens()},
          {"seconds", s.seconds},
          {"linear_seconds", linear.seconds},
          {"linear_gflops", l.gflops},
          {"linear_peak_percent", l.peak_percent},
          {"attention_seconds", attention.seconds},
          {"attention_gflops", a.gflops},
          {"attention_peak_percent", a.peak_percent},
          {"rest_percent", RestPercent(s)},
          {"kv_bytes", s.kv_bytes},
          {"ops", EntriesJson(s.ops)}};
}

json MemoryJson(const BenchReport& r) {
  json accounts = json::object();
  for (int a = 0; a < kAccounts; ++a) {
    json row = {{"planned", r.plan.accounts[a]}};
    if (r.ran) row["peak"] = r.result.account_peaks[a];
    accounts[std::string(Name(static_cast<Account>(a)))] = row;
  }
  json phases = json::object();
  for (const MemoryPlan::Phase& phase : r.plan.phases) phases[phase.name] = phase.bytes;
  json out = {{"planned_peak", r.plan.peak}, {"phases", phases}, {"accounts", accounts}};
  if (r.ran) out["peak_resident"] = r.result.peak_resident;
  return out;
}

std::string EntriesText(const ProfileEntries& ops, double seconds, double peak) {
  std::vector<std::pair<std::string, Profiler::Entry>> sorted(ops.begin(), ops.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  std::string out;
  for (const auto& [name, e] : sorted) {
    const Rate rate = RateOf(e.flop, e.seconds, peak);
    out += fmt::format("  {:<18} {:>10.4f} s {:>5.1f}% {:>8} calls", name, e.seconds,
                       100 * Ratio(e.seconds, seconds), e.calls);
    out += e.flop > 0 ? fmt::format(" {:>9.1f} GFLOP/s {:>5.1f}% of peak\n", rate.gflops, rate.peak_percent)
                      : "\n";
  }
  double known = 0;
  for (const auto& [name, e] : sorted) known += e.seconds;
  // Entries may lie in one another; then nothing is left to tell.
  if (known < seconds) {
    out += fmt::format("  {:<18} {:>10.4f} s {:>5.1f}%\n", "weights, other", seconds - known,
                       100 * Ratio(seconds - known, seconds));
  }
  return out;
}

std::string StageText(std::string_view name, const BenchStage& stage, double peak) {
  const Rate rate = RateOf(stage.flop, stage.seconds, peak);
  std::string out = fmt::format("{:<12} {:.3f} s, {:.3f} TFLOP, {:.1f} GFLOP/s, {:.1f}% of peak", name,
                                stage.seconds, stage.flop / kTera, rate.gflops, rate.peak_percent);
  if (stage.load_seconds > 0) out += fmt::format("; loaded in {:.2f} s", stage.load_seconds);
  return out + "\n" + EntriesText(stage.ops, stage.seconds, peak);
}

std::string ScalesText(const BenchReport& r) {
  const double peak = r.machine.PeakOf(r.settings.types.transformer);
  std::string out =
      fmt::format("{:>5} {:>9} {:>7} {:>10} {:>9} {:>6} {:>9} {:>6} {:>6} {:>9}\n", "scale", "map", "tokens",
                  "seconds", "linear", "%peak", "attention", "%peak", "rest%", "KV MiB");
  for (const BenchScale& s : r.result.scales) {
    const Profiler::Entry linear = EntryOf(s.ops, "linear"), attention = EntryOf(s.ops, "attention");
    const Rate l = RateOf(linear.flop, linear.seconds, peak),
               a = RateOf(attention.flop, attention.seconds, peak);
    out += fmt::format("{:>5} {:>9} {:>7} {:>10.4f} {:>9.1f} {:>6.1f} {:>9.1f} {:>6.1f} {:>6.1f} {:>9.1f}\n",
                       s.scale, fmt::format("{}x{}", s.map.h, s.map.w), s.map.tokens(), s.seconds, l.gflops,
                       l.peak_percent, a.gflops, a.peak_percent, RestPercent(s),
                       static_cast<double>(s.kv_bytes) / kMiB);
  }
  return out;
}

std::string MemoryText(const BenchReport& r) {
  std::string out = fmt::format("memory, MiB   {:>10}{}\n", "planned", r.ran ? "      peak" : "");
  for (int a = 0; a < kAccounts; ++a) {
    out += fmt::format("  {:<12}{:>10.1f}", Name(static_cast<Account>(a)),
                       static_cast<double>(r.plan.accounts[a]) / kMiB);
    out += r.ran ? fmt::format("{:>10.1f}\n", static_cast<double>(r.result.account_peaks[a]) / kMiB) : "\n";
  }
  for (const MemoryPlan::Phase& phase : r.plan.phases) {
    out += fmt::format("  in {:<9}{:>10.1f}\n", phase.name, static_cast<double>(phase.bytes) / kMiB);
  }
  out += fmt::format("  {:<12}{:>10.1f}", "resident", static_cast<double>(r.plan.peak) / kMiB);
  return out +
         (r.ran ? fmt::format("{:>10.1f}\n", static_cast<double>(r.result.peak_resident) / kMiB) : "\n");
}

// The least time that the work takes at the measured peaks.
std::string WorkText(const BenchReport& r) {
  const BenchWork& w = r.work;
  const double transformer = r.machine.PeakOf(r.settings.types.transformer);
  return fmt::format(
      "work, TFLOP   text {:.3f}, linear layers {:.2f}, attention {:.2f}, VAE {:.2f}; at the measured peak "
      "{:.1f} s\n",
      w.text / kTera, w.linear / kTera, w.attention / kTera, w.vae / kTera,
      Ratio(w.text, r.machine.PeakOf(r.settings.types.text)) + Ratio(w.linear + w.attention, transformer) +
          Ratio(w.vae, r.machine.PeakOf(r.settings.types.vae)));
}

std::string TypesText(const EngineTypes& t) {
  return fmt::format("transformer {}, vae {}, text {}", Name(t.transformer), Name(t.vae), Name(t.text));
}

}  // namespace

double BenchMachine::PeakOf(DType type) const {
  return type == DType::kBF16 ? std::max(bf16_peak, f32_peak) : f32_peak;
}

json MachineJson(const BenchMachine& machine) {
  return {{"processor", machine.processor},
          {"threads", machine.threads},
          {"peak_gflops", {{"f32", machine.f32_peak / kGiga}, {"bf16", machine.bf16_peak / kGiga}}}};
}

std::string MachineText(const BenchMachine& machine) {
  return fmt::format("{}, {} threads; matrix peak f32 {:.1f}, bf16 {:.1f} GFLOP/s\n", machine.processor,
                     machine.threads, machine.f32_peak / kGiga, machine.bf16_peak / kGiga);
}

json BenchJson(const BenchReport& r) {
  const EngineTypes& t = r.settings.types;
  json out = MachineJson(r.machine);
  out["model"] = r.model;
  out["settings"] = {
      {"types", {{"transformer", Name(t.transformer)}, {"vae", Name(t.vae)}, {"text", Name(t.text)}}},
      {"batch", r.settings.batch},
      {"text_tokens", r.settings.text_tokens},
      {"repeat", r.settings.repeat},
      {"scales", r.settings.schedule.scales()},
      {"last_map", {r.settings.schedule.last().h, r.settings.schedule.last().w}}};
  out["tflop"] = {{"text", r.work.text / kTera},
                  {"linear", r.work.linear / kTera},
                  {"attention", r.work.attention / kTera},
                  {"vae", r.work.vae / kTera}};
  out["memory"] = MemoryJson(r);
  if (!r.ran) return out;
  if (r.settings.text) out["text"] = StageJson(r.result.text, r.machine.PeakOf(t.text));
  if (r.settings.transformer) {
    out["transformer"] = StageJson(r.result.transformer, r.machine.PeakOf(t.transformer));
    for (const BenchScale& s : r.result.scales)
      out["scales"].push_back(ScaleJson(s, r.machine.PeakOf(t.transformer)));
  }
  if (r.settings.vae) out["vae"] = StageJson(r.result.vae, r.machine.PeakOf(t.vae));
  return out;
}

std::string BenchText(const BenchReport& r) {
  const MapSize last = r.settings.schedule.last();
  std::string out = MachineText(r.machine);
  out += fmt::format("{}: {}; batch {}, {} text tokens, {} scales to {}x{}\n", r.model,
                     TypesText(r.settings.types), r.settings.batch, r.settings.text_tokens,
                     r.settings.schedule.scales(), last.h, last.w);
  out += WorkText(r);
  if (r.ran && r.settings.text)
    out += StageText("text", r.result.text, r.machine.PeakOf(r.settings.types.text));
  if (r.ran && r.settings.transformer) {
    out += ScalesText(r) +
           StageText("transformer", r.result.transformer, r.machine.PeakOf(r.settings.types.transformer));
  }
  if (r.ran && r.settings.vae) out += StageText("vae", r.result.vae, r.machine.PeakOf(r.settings.types.vae));
  return out + MemoryText(r);
}

json OpsJson(const BenchMachine& machine, const BenchSettings& settings, const std::vector<OpTime>& rows) {
  const double peak = machine.PeakOf(settings.types.transformer);
  json out = MachineJson(machine);
  for (const OpTime& row : rows) {
    const Rate rate = RateOf(row.flop, row.seconds, peak);
    out["ops"].push_back({{"op", row.op},
                          {"map", {row.map.h, row.map.w}},
                          {"shape", row.shape},
                          {"seconds", row.seconds},
                          {"gflops", rate.gflops},
                          {"peak_percent", rate.peak_percent}});
  }
  return out;
}

std::string OpsText(const BenchMachine& machine, const BenchSettings& settings,
                    const std::vector<OpTime>& rows) {
  const double peak = machine.PeakOf(settings.types.transformer);
  std::string out = MachineText(machine);
  for (const OpTime& row : rows) {
    const Rate rate = RateOf(row.flop, row.seconds, peak);
    out += fmt::format("{:<10} {:>9} {:<42} {:>10.6f} s {:>9.1f} GFLOP/s {:>5.1f}% of peak\n", row.op,
                       fmt::format("{}x{}", row.map.h, row.map.w), row.shape, row.seconds, rate.gflops,
                       rate.peak_percent);
  }
  return out;
}

}  // namespace nextscale
