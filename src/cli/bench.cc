// nextscale bench: time and memory by stage, scale and op.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/threads.h"
#include "cli/bench_model.h"
#include "cli/bench_ops.h"
#include "cli/bench_report.h"
#include "cli/bench_variants.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/schedule_flags.h"
#include "cli/type_flags.h"
#include "ops/machine_peak.h"

namespace nextscale {
namespace {

struct BenchFlags {
  ModelFlags model;
  std::string preset, type, scales, only;
  SizeFlags size;
  int64_t batch = 1, text_tokens = 64;
  int repeat = 1;
  int64_t depth = 0;
  std::optional<int> uncond_until;
  KvFlags kv;
  PruneFlags prune;
  bool plan = false, json = false;
};

constexpr int kPeakRepetitions = 5;
constexpr int64_t kMostMap = 1024;  // along an edge

// "80x80,96x96": maps as height x width.
StatusOr<std::vector<MapSize>> ParseMaps(const std::string& text) {
  std::vector<MapSize> maps;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    MapSize map;
    const auto [x, h_error] = std::from_chars(at, end, map.h);
    if (h_error != std::errc() || x == end || *x != 'x') break;
    const auto [comma, w_error] = std::from_chars(x + 1, end, map.w);
    if (w_error != std::errc() || (comma != end && *comma != ',')) break;
    if (map.h < 1 || map.w < 1 || map.h > kMostMap || map.w > kMostMap) break;
    maps.push_back(map);
    if (comma == end) return maps;
    at = comma;
  }
  return CallError(
      "--scales " + text,
      fmt::format("expected HEIGHTxWIDTH maps of at most {0}x{0} tokens, with commas between", kMostMap),
      "e.g. --scales 80x80,96x96,128x128 for 2048x2048 pixels");
}

struct BenchModelFiles {
  ModelFiles files;
  ModelInfo info;
};

StatusOr<BenchModelFiles> OpenBenchModel(const BenchFlags& flags) {
  BenchModelFiles out;
  if (flags.preset.empty()) {
    NS_ASSIGN_OR_RETURN(out.files, OpenFlaggedModel(flags.model));
    NS_ASSIGN_OR_RETURN(out.info, ReadModelInfo(out.files));
    if (out.info.transformer && out.info.vae && out.info.text) return out;
    return FileError(out.files.name + " lacks a part", "transformer, VAE and text encoder are needed",
                     "name them, or use --preset");
  }
  NS_ASSIGN_OR_RETURN(out.info, BenchPreset(flags.preset));
  if (flags.depth > 0) {
    out.info.transformer->depth = std::min(flags.depth, out.info.transformer->depth);
    out.info.transformer->chunks = 1;
  }
  return out;
}

StatusOr<BenchSettings> SettingsOf(const BenchFlags& flags, ModelInfo& info) {
  BenchSettings settings;
  NS_ASSIGN_OR_RETURN(settings.types, ParseTypes(flags.type));
  NS_ASSIGN_OR_RETURN(const ChosenSchedule chosen, ChooseSchedule(flags.size, info));
  settings.schedule = chosen.schedule;
  if (!flags.scales.empty()) {
    NS_ASSIGN_OR_RETURN(const std::vector<MapSize> more, ParseMaps(flags.scales));
    settings.schedule.maps.insert(settings.schedule.maps.end(), more.begin(), more.end());
    settings.schedule.rope_grid = settings.schedule.last();
  }
  // Random weights come with as many level embeddings as the schedule needs.
  if (!flags.preset.empty())
    info.transformer->levels = std::max<int64_t>(info.transformer->levels, settings.schedule.scales());
  if (settings.schedule.scales() > info.transformer->levels) {
    return CallError(fmt::format("{} scales", settings.schedule.scales()),
                     fmt::format("the model has level embeddings for {}", info.transformer->levels),
                     "fewer --scales, or a --preset");
  }
  settings.batch = flags.batch;
  settings.text_tokens = std::min(flags.text_tokens, info.transformer->text_rows);
  settings.uncond_until = flags.uncond_until;
  settings.repeat = flags.repeat;
  settings.threads = MaxThreads();
  settings.text = flags.only.empty() || flags.only == "text";
  settings.transformer = flags.only.empty() || flags.only == "transformer";
  settings.vae = flags.only.empty() || flags.only == "vae";
  return settings;
}

// The best of a few runs, before and after what is measured: another program's load can only lower it.
void MeasureMachine(BenchMachine& machine) {
  constexpr double kGiga = 1e9;
  const MachinePeak peak = MeasureMachinePeak(kPeakRepetitions);
  machine.processor = ProcessorDescription();
  machine.threads = MaxThreads();
  machine.f32_peak = std::max(machine.f32_peak, peak.f32.best * kGiga);
  machine.bf16_peak = std::max(machine.bf16_peak, peak.bf16.best * kGiga);
}

Status RunOps(const BenchModelFiles& model, const BenchSettings& settings, bool json,
              const CancelToken& cancel) {
  BenchMachine machine;
  MeasureMachine(machine);
  NS_ASSIGN_OR_RETURN(const std::vector<OpTime> rows, TimeOps(*model.info.transformer, settings, &cancel));
  MeasureMachine(machine);
  fmt::print("{}", json ? OpsJson(machine, settings, rows).dump(2) + "\n" : OpsText(machine, settings, rows));
  return absl::OkStatus();
}

Status RunVariants(const BenchModelFiles& model, std::vector<BenchVariant> variants, bool json,
                   const CancelToken& cancel) {
  std::vector<BenchSettings> settings;
  for (BenchVariant& v : variants) {
    v.settings.text = v.settings.vae = false;
    NS_ASSIGN_OR_RETURN(const MemoryPlan plan, PlanMemory(model.info, v.settings.Plan()));
    for (const MemoryPlan::Phase& phase : plan.phases) {
      if (phase.name == "transformer") v.planned_resident = phase.bytes;
    }
    settings.push_back(v.settings);
  }
  BenchMachine machine;
  MeasureMachine(machine);
  NS_ASSIGN_OR_RETURN(std::vector<BenchResult> results,
                      RunTransformerBenches(model.files, model.info, settings, &cancel));
  MeasureMachine(machine);
  for (size_t i = 0; i < variants.size(); ++i) variants[i].result = std::move(results[i]);
  fmt::print("{}", json ? VariantsJson(machine, variants).dump(2) + "\n" : VariantsText(machine, variants));
  return absl::OkStatus();
}

Status RunBenchCommand(const BenchFlags& flags, CommandLine& line) {
  NS_ASSIGN_OR_RETURN(BenchModelFiles model, OpenBenchModel(flags));
  NS_ASSIGN_OR_RETURN(BenchSettings settings, SettingsOf(flags, model.info));
  if (!flags.preset.empty()) model.files = RandomModel(model.info, flags.preset);
  KvPlans plans(model.files, *model.info.transformer);
  const LayerFlags roles = flags.preset.empty() ? LayerFlags()
                                                : PresetDrafters(flags.preset, settings.schedule.scales(),
                                                                 model.info.transformer->depth);
  NS_ASSIGN_OR_RETURN(std::vector<BenchVariant> variants,
                      BenchVariants(settings, flags.kv, flags.prune, plans, roles));
  if (variants.size() > 1 && flags.plan)
    return CallError("--plan of several policies or prunings", "it foretells one run", "name one");
  if (variants.size() > 1) return RunVariants(model, std::move(variants), flags.json, line.cancel);
  settings = variants.front().settings;
  if (flags.only == "ops") return RunOps(model, settings, flags.json, line.cancel);

  BenchReport report;
  report.model = model.files.name;
  report.settings = settings;
  NS_ASSIGN_OR_RETURN(report.work, WorkOf(model.info, settings));
  report.ran = !flags.plan;
  NS_ASSIGN_OR_RETURN(report.plan, PlanMemory(model.info, settings.Plan()));
  MeasureMachine(report.machine);
  if (!flags.plan) {
    NS_ASSIGN_OR_RETURN(report.result, RunBench(model.files, model.info, settings, &line.cancel));
    MeasureMachine(report.machine);
  }
  fmt::print("{}", flags.json ? BenchJson(report).dump(2) + "\n" : BenchText(report));
  return absl::OkStatus();
}

}  // namespace

void AddBench(CommandLine& line) {
  AddCommand<BenchFlags>(
      line, "bench", "time and memory by stage, scale and op",
      [](CLI::App& command, BenchFlags& flags) {
        AddModelFlags(command, flags.model);
        command.add_option(
            "--preset", flags.preset,
            fmt::format("a published size with random weights: {}", fmt::join(BenchPresetNames(), ", ")));
        command.add_option("--pixels", flags.size.pixels,
                           "0.06M, 0.25M, 0.60M or 1M (default: the size the model was trained at, else 1M)");
        command.add_option("--aspect", flags.size.aspect, "WIDTH:HEIGHT (default 1:1)");
        command.add_option("--scales", flags.scales,
                           "maps beyond the schedule's, HEIGHTxWIDTH in tokens: 80x80,96x96,128x128 for 2K");
        command.add_option("--batch", flags.batch, "pictures at once (default 1), two streams each")
            ->check(CLI::Range(1, 64));
        command.add_option("--type", flags.type, kTypeHelp);
        command.add_option("--text-tokens", flags.text_tokens, "of each prompt (default 64)")
            ->check(CLI::Range(1, 512));
        command.add_option("--repeat", flags.repeat, "runs, of which the median is told (default 1)")
            ->check(CLI::Range(1, 100));
        command.add_option("--only", flags.only, "one stage, or the transformer's heavy ops by themselves")
            ->check(CLI::IsMember({"transformer", "vae", "text", "ops"}));
        command.add_option("--depth", flags.depth, "of a preset: this many blocks only")
            ->check(CLI::PositiveNumber);
        command.add_option("--uncond-until", flags.uncond_until,
                           "last scale, from 0, that runs the unconditional stream (default: all do)");
        AddKvFlags(command, flags.kv);
        AddPruneFlags(command, flags.prune);
        command.add_flag("--plan", flags.plan, "memory and work from shapes alone, nothing is run");
        command.add_flag("--json", flags.json, "as JSON; bytes, seconds, GFLOP/s");
        command.footer(
            "Lists in --kv, --kv-budget and --prune (presets, or none), and lists of --prune-ratios with ; "
            "between, "
            "give one table of the transformer with each.\nRates are compared with the machine's own matrix "
            "peak, measured in the same run.\nExample: "
            "nextscale bench --preset infinity-2b --pixels 0.25M");
      },
      RunBenchCommand);
}

}  // namespace nextscale
