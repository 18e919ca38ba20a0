// `nextscale eval`: what cache policies and prunings change in a model's pictures, and what they save.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/eval_figures.h"
#include "cli/eval_run.h"
#include "cli/eval_table.h"
#include "cli/generate_flags.h"
#include "cli/kv_plans.h"
#include "cli/output_places.h"
#include "cli/picture_settings.h"
#include "cli/version.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct EvalFlags {
  GenerateFlags request;
  std::string folder, report, figures;
  bool no_metadata = false;
};

// The pictures with the full cache, nothing pruned: settings are eval's own.
StatusOr<GenerateTask> PrepareEval(const GenerateFlags& flags, Progress& progress) {
  NS_RETURN_IF_ERROR(CheckFlags(flags));
  GenerateFlags full = flags;
  full.kv = {.type = flags.kv.type};
  full.prune = {};
  NS_ASSIGN_OR_RETURN(GenerateTask task, PrepareTask(full, progress));
  for (const Picture& p : task.pictures) {
    if (p.kv_flags == full.kv && p.prune_flags == full.prune) continue;
    return CallError(
        fmt::format("a line of {} has a cache policy or a pruning of its own", flags.prompts_file),
        "eval makes every picture with each of its settings",
        "leave it out of the line, and give it by --kv or --prune");
  }
  return task;
}

// The full cache first, once, then the flags' settings.
StatusOr<std::vector<Variant>> VariantsOf(const GenerateFlags& flags, const GenerateTask& task) {
  const Picture& first = task.pictures.front();
  std::vector<Variant> variants = {{.name = "full", .kv = first.kv_flags, .prune = first.prune_flags}};
  for (const Variant& v : ExpandVariants(flags.kv, flags.prune)) {
    if (v.name == variants.front().name) continue;
    if (std::any_of(variants.begin(), variants.end(), [&](const Variant& w) { return w.name == v.name; }))
      return CallError(fmt::format("the setting {} is there twice", v.name), "", "name each once");
    variants.push_back(v);
  }
  return variants;
}

StatusOr<EvalSetting> SettingOf(const Variant& variant, const GenerateTask& task, KvPlans& plans) {
  EvalSetting setting{.variant = variant, .pictures = task.pictures};
  for (Picture& p : setting.pictures) {
    p.kv_flags = variant.kv;
    NS_ASSIGN_OR_RETURN(p.kv, plans.Resolve(variant.kv, p.request.schedule.scales()));
    p.prune_flags = variant.prune;
    NS_ASSIGN_OR_RETURN(p.prune, ParsePruneFlags(variant.prune, p.request.schedule.scales()));
  }
  return setting;
}

// Every setting is planned, so that one that can't be is found before the first picture.
StatusOr<std::vector<EvalSetting>> PlanSettings(const GenerateFlags& flags, const GenerateTask& task) {
  std::optional<int64_t> limit;
  if (!flags.memory_limit.empty()) {
    NS_ASSIGN_OR_RETURN(limit, ParseBytes(flags.memory_limit, "--memory-limit"));
  }
  KvPlans plans(task.files, *task.info.transformer);
  std::vector<EvalSetting> settings;
  NS_ASSIGN_OR_RETURN(const std::vector<Variant> variants, VariantsOf(flags, task));
  for (const Variant& variant : variants) {
    NS_ASSIGN_OR_RETURN(EvalSetting setting, SettingOf(variant, task, plans));
    NS_ASSIGN_OR_RETURN(const RunPlan plan, PlanBatches(task.info, setting.pictures, task.batches, task.texts,
                                                        task.run.types, false));
    if (limit) NS_RETURN_IF_ERROR(CheckMemory(task.info, plan, *limit));
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::string FigurePath(const EvalFlags& flags, const std::string& name) {
  return (fs::path(flags.figures) / name).string();
}

Status CheckEvalPlaces(const EvalFlags& flags, const GenerateTask& task,
                       const std::vector<EvalSetting>& settings) {
  OutputPlaces places;
  for (const std::string& folder : {flags.folder, flags.figures}) {
    if (!folder.empty()) places.new_folders.push_back(folder);
  }
  for (size_t i = 0; i < task.pictures.size() && !flags.folder.empty(); ++i) {
    for (const EvalSetting& s : settings)
      places.pictures.push_back((fs::path(flags.folder) / EvalPictureName(i, s.variant.name)).string());
  }
  if (!flags.report.empty()) places.others.push_back(flags.report);
  if (!flags.figures.empty()) {
    for (const std::string& name : EvalFigureNames()) places.others.push_back(FigurePath(flags, name));
  }
  const ModelFlags& m = flags.request.model;
  places.inputs = {m.model,
                   m.transformer,
                   m.vae,
                   m.text_encoder,
                   flags.request.from_bits,
                   flags.request.prompts_file,
                   flags.request.kv.plan};
  if (m.model.empty()) places.inputs.push_back(BundledModelPath());
  return CheckOutputs(places);
}

json ReportOf(const GenerateTask& task, const EvalOutcome& outcome) {
  json out = {{"version", VersionNumber()},
              {"settings", SettingsJson(task.pictures.front(), task.run)},
              {"pictures", json::array()}};
  for (const size_t i : outcome.made) {
    const PictureRequest& r = task.pictures[i].request;
    out["pictures"].push_back({{"index", i}, {"seed", r.seed}, {"prompt", r.prompt}});
  }
  out["results"] = EvalJson(outcome.results);
  return out;
}

Status WriteFiles(const EvalFlags& flags, const GenerateTask& task, const EvalOutcome& outcome) {
  if (!flags.report.empty()) {
    constexpr auto kReplace = json::error_handler_t::replace;
    const std::string text = ReportOf(task, outcome).dump(1, ' ', false, kReplace) + "\n";
    NS_RETURN_IF_ERROR(WriteFileAtomically(flags.report, text));
  }
  if (flags.figures.empty()) return absl::OkStatus();
  for (const EvalFigure& figure : EvalFigures(outcome.results))
    NS_RETURN_IF_ERROR(WriteFileAtomically(FigurePath(flags, figure.name), figure.svg));
  return absl::OkStatus();
}

// The report, the figures and the table of the pictures that were made.
Status TellOutcome(const EvalFlags& flags, const GenerateTask& task, const EvalOutcome& outcome) {
  if (outcome.made.empty()) return absl::OkStatus();
  const Status written = WriteFiles(flags, task, outcome);
  fmt::print("{} picture{}, distances from the full cache's: medians\n\n{}", outcome.made.size(),
             outcome.made.size() > 1 ? "s" : "", EvalText(outcome.results));
  return written;
}

Status RunEvalCommand(const EvalFlags& flags, CommandLine& line) {
  Progress progress = line.MakeProgress();
  NS_ASSIGN_OR_RETURN(const GenerateTask task, PrepareEval(flags.request, progress));
  NS_ASSIGN_OR_RETURN(const std::vector<EvalSetting> settings, PlanSettings(flags.request, task));
  NS_RETURN_IF_ERROR(CheckEvalPlaces(flags, task, settings));
  const OpContext ops(flags.request.reference ? Backend::kReference : Backend::kFast);
  EvalOutcome outcome;
  const Status made = RunEval({.task = task,
                               .settings = settings,
                               .folder = flags.folder,
                               .no_metadata = flags.no_metadata,
                               .ops = ops,
                               .cancel = &line.cancel,
                               .progress = progress},
                              outcome);
  progress.EndBar();
  const Status told = TellOutcome(flags, task, outcome);
  return made.ok() ? told : made;
}

void DeclareEvalFlags(CLI::App& app, EvalFlags& f) {
  DeclareBatchFlags(app, f.request);
  app.add_option("-o,--output", f.folder,
                 "a folder for the pictures, NNNN-SETTING.png (default: none are written)")
      ->type_name("DIR");
  app.add_option("--report", f.report,
                 "all distances, seconds and bytes as JSON; the PSNR of equal pictures is null there")
      ->type_name("FILE");
  app.add_option("--figures", f.figures, "a folder for plots (SVG)")->type_name("DIR");
  app.add_flag("--no-metadata", f.no_metadata, "pictures don't carry their settings");
  app.footer(
      "Each picture is made with the full cache, then from the same draws with every policy of --kv, with "
      "every\n"
      "budget of --kv-budget (commas separate them), and every pruning: presets of --prune, none, and lists "
      "of\n"
      "--prune-ratios with ; between. The table has medians over the pictures: PSNR and SSIM (on luma) with "
      "the\n"
      "full cache's picture, its quartiles, equal bits, the transformer's time as a ratio to the full "
      "cache's,\n"
      "the most that the cache of a batch held after a scale.\n"
      "Example: nextscale eval --prompts prompts.txt -s 0 --kv snapkv,scalekv --kv-budget 10%,20% --figures "
      "plots");
}

}  // namespace

void AddEval(CommandLine& line) {
  AddCommand<EvalFlags>(line, "eval", "prompts and settings to distances from the full cache",
                        DeclareEvalFlags, RunEvalCommand);
}

}  // namespace nextscale
