// `nextscale calibrate`: prompts to a ScaleKV plan (scalekv.md, "Attention Selectivity Index").
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/atomic_file.h"
#include "calibration/fingerprint.h"
#include "cli/calibrate_figures.h"
#include "cli/calibrate_run.h"
#include "cli/command.h"
#include "cli/output_places.h"

namespace nextscale {
namespace {

constexpr const char* kBundledPrompts = "models/prompts-calibration.txt";
constexpr int64_t kPaperPrompts = 10;

struct CalibrateFlags {
  GenerateFlags pictures;
  std::string output = "plan.json", metric = "asi", pooling = "average";
  std::string figures, figure_layers, figure_heads;
  std::optional<int64_t> first, drafters, refiner_start, decay, window;
  int64_t top = 64, sample = 256, sets = 0;
  bool heads = false;
};

template <typename Number>
void AddNumber(CLI::App& app, const char* name, Number& number, int64_t least, const char* help) {
  app.add_option(name, number, help)->check(CLI::Range(least, int64_t{1} << 30))->type_name("N");
}

void Declare(CLI::App& app, CalibrateFlags& f) {
  DeclareRequestFlags(app, f.pictures);
  app.add_option("-o,--output", f.output, "the plan, for --kv-plan or `convert --plan`")
      ->capture_default_str()
      ->type_name("FILE");
  AddNumber(app, "--first", f.first, 1,
            "so many of the prompts (default: all that are given; without any, 10 of the 128 bundled)");
  AddNumber(app, "--top", f.top, 1, "K': keys of the history whose attention counts (default: 64)");
  AddNumber(app, "--sample", f.sample, 0,
            "queries of a map that are looked at, evenly spaced; 0: all (default: 256)");
  AddNumber(app, "--drafters", f.drafters, 0,
            "how many pairs of a scale and a layer (default: a sixteenth of them, as published)");
  app.add_option("--metric", f.metric, "what drafters are chosen by: asi, top-k, current, random")
      ->capture_default_str()
      ->type_name("NAME");
  AddNumber(app, "--refiner-start", f.refiner_start, 0,
            "written into the plan: B_r(0) in tokens (default: of the budget of the request)");
  AddNumber(app, "--decay", f.decay, 0, "likewise: delta, in tokens a scale");
  AddNumber(app, "--window", f.window, 1, "likewise: observation window, in tokens");
  app.add_option("--pooling", f.pooling, "likewise: of the scores: average, max, none")
      ->capture_default_str()
      ->type_name("NAME");
  app.add_flag("--heads", f.heads, "budgets by head too: more to heads that look far");
  AddNumber(app, "--sets", f.sets, 2,
            "also splits the prompts into so many disjoint sets and says how far their drafters agree");
  app.add_option("--figures", f.figures,
                 "a folder for SVG pictures: attention maps, densities, roles, budgets")
      ->type_name("DIR");
  app.add_option("--figure-layers", f.figure_layers,
                 "whose attention maps, with commas between (default: the one with the smallest mean Z, and "
                 "the largest)")
      ->type_name("LIST");
  app.add_option("--figure-heads", f.figure_heads, "of these layers (default: the first four)")
      ->type_name("LIST");
  app.footer("Example: nextscale calibrate -m infinity-2b.safetensors -o infinity-2b.plan.json");
}

// The prompts that a call without any means.
Status UseBundledPrompts(CalibrateFlags& f) {
  if (!f.pictures.prompts.empty() || !f.pictures.prompts_file.empty()) return absl::OkStatus();
  f.pictures.prompts_file = BundledFile(kBundledPrompts);
  if (f.pictures.prompts_file.empty())
    return CallError("no prompts were given, and the bundled ones were not found", "",
                     "give some by --prompts");
  if (!f.first) f.first = kPaperPrompts;
  return absl::OkStatus();
}

// The first prompts, which have to make pictures of one schedule with the full cache.
Status ChoosePictures(const CalibrateFlags& f, GenerateTask& task) {
  if (f.first && *f.first < static_cast<int64_t>(task.pictures.size()))
    task.pictures.resize(static_cast<size_t>(*f.first));
  for (const Picture& p : task.pictures) {
    if (p.kv.policy != KvPolicyKind::kFull || !p.prune.ratios.empty())
      return CallError(
          fmt::format("the prompt \"{}\" asks for a cache policy or for pruning", p.request.prompt),
          "calibration looks at the full cache", "leave them out of the prompts' lines");
    if (p.request.schedule.maps != task.pictures[0].request.schedule.maps)
      return CallError(fmt::format("the prompt \"{}\" has a size of its own", p.request.prompt),
                       "a plan belongs to one schedule", "give all prompts the same size");
  }
  if (task.pictures[0].request.schedule.scales() < 2)
    return CallError("pictures of one scale", "they have no history, and need no plan");
  return absl::OkStatus();
}

StatusOr<PlanSettings> SettingsOf(const CalibrateFlags& f, const GenerateTask& task) {
  PlanSettings s{.top = f.top,
                 .drafter_count = f.drafters,
                 .refiner_start = f.refiner_start,
                 .decay = f.decay,
                 .window = f.window,
                 .seed = task.pictures[0].request.seed};
  NS_ASSIGN_OR_RETURN(s.metric, ParseRoleMetric(f.metric));
  NS_ASSIGN_OR_RETURN(s.pooling, ParsePooling(f.pooling));
  const int64_t pairs = (task.pictures[0].request.schedule.scales() - 1) * task.info.transformer->depth;
  if (f.drafters.value_or(0) > pairs)
    return CallError(fmt::format("--drafters {}", *f.drafters),
                     fmt::format("there are {} pairs of a layer and a scale after the first", pairs));
  if (f.sets > static_cast<int64_t>(task.pictures.size()))
    return CallError(fmt::format("--sets {}", f.sets),
                     fmt::format("there are {} prompts to split", task.pictures.size()));
  return s;
}

// "12 (Z -1.93), 3 (Z -1.80)" for the drafters of a scale, the smallest Z first.
std::string DraftersText(const Plan& plan, int64_t scale) {
  std::vector<int64_t> layers;
  for (int64_t l = 0; l < plan.depth; ++l) {
    if (plan.drafters[scale][l]) layers.push_back(l);
  }
  const std::vector<double>& z = plan.z[scale];
  std::stable_sort(layers.begin(), layers.end(), [&](int64_t a, int64_t b) { return z[a] < z[b]; });
  std::string text;
  for (int64_t l : layers) text += fmt::format("{}{} (Z {:.2f})", text.empty() ? "" : ", ", l, z[l]);
  return text.empty() ? "none" : text;
}

std::string Summary(const CalibrateFlags& f, const Plan& plan, std::span<const MeasuredPrompt> measured) {
  std::string out =
      fmt::format("{}: {} prompts, {} of {} pairs of a scale and a layer are drafters\n", f.output,
                  plan.prompts.size(), plan.drafter_count(), (plan.scales() - 1) * plan.depth);
  for (int64_t k = 1; k < plan.scales(); ++k)
    out += fmt::format("scale {:>2}, {}x{}: drafters {}\n", k, plan.schedule[k].h, plan.schedule[k].w,
                       DraftersText(plan, k));
  for (const StabilityPoint& p : plan.stability)
    out += fmt::format("by the first {} prompt{}: {:.1f}% of these drafters\n", p.prompts,
                       p.prompts == 1 ? "" : "s", 100 * p.overlap);
  if (f.sets == 0) return out;
  const std::vector<double> overlaps =
      OverlapsOfSets(measured, f.sets, plan.metric, plan.drafter_count(), plan.seed);
  const double mean =
      std::accumulate(overlaps.begin(), overlaps.end(), 0.0) / static_cast<double>(overlaps.size());
  const auto [least, most] = std::minmax_element(overlaps.begin(), overlaps.end());
  return out + fmt::format(
                   "{} disjoint sets of {} prompts: {:.1f}% of drafters in common, pair by pair (mean; least "
                   "{:.1f}%, most {:.1f}%)\n",
                   f.sets, plan.prompts.size() / static_cast<size_t>(f.sets), 100 * mean, 100 * *least,
                   100 * *most);
}

// Numbers below `most`; `otherwise` if there are none.
StatusOr<std::vector<int64_t>> ParsePlaces(const std::string& text, const char* flag, int64_t most,
                                           std::vector<int64_t> otherwise) {
  if (text.empty()) return otherwise;
  NS_ASSIGN_OR_RETURN(const std::vector<int> places, ParseIntegers(text, flag));
  for (const int place : places) {
    if (place < 0 || place >= most)
      return CallError(fmt::format("{} {}", flag, text), fmt::format("the model has 0 to {}", most - 1));
  }
  return std::vector<int64_t>(places.begin(), places.end());
}

// The attention of the first prompt's picture is looked at once more, now that the roles are known.
Status WriteFigures(const CalibrateFlags& f, const CalibrationRun& run, const LoadedModel& model,
                    const Plan& plan, std::span<const MeasuredPrompt> measured) {
  if (f.figures.empty()) return absl::OkStatus();
  const TransformerConfig& config = *run.task.info.transformer;
  std::vector<int64_t> first(std::min<int64_t>(config.heads, 4));
  std::iota(first.begin(), first.end(), 0);
  NS_ASSIGN_OR_RETURN(const auto layers,
                      ParsePlaces(f.figure_layers, "--figure-layers", config.depth, TypicalLayers(plan)));
  NS_ASSIGN_OR_RETURN(const auto heads, ParsePlaces(f.figure_heads, "--figure-heads", config.heads, first));
  std::vector<LayerHead> shown;
  for (const int64_t layer : layers) {
    for (const int64_t head : heads) shown.push_back({layer, head});
  }
  AttentionMaps maps(plan.schedule, shown, run.ops);
  NS_RETURN_IF_ERROR(WatchPicture(run, model, 0, maps));
  NS_ASSIGN_OR_RETURN(std::vector<CalibrationFigure> figures, AttentionFigures(plan, maps));
  NS_ASSIGN_OR_RETURN(const std::vector<CalibrationFigure> of_plan, PlanFigures(plan, measured));
  figures.insert(figures.end(), of_plan.begin(), of_plan.end());
  for (const CalibrationFigure& figure : figures)
    NS_RETURN_IF_ERROR(
        WriteFileAtomically((std::filesystem::path(f.figures) / figure.name).string(), figure.svg));
  return absl::OkStatus();
}

// Places, and what figures are asked for, before any work is done.
Status CheckPlaces(const CalibrateFlags& f, const GenerateTask& task) {
  const TransformerConfig& config = *task.info.transformer;
  NS_RETURN_IF_ERROR(ParsePlaces(f.figure_layers, "--figure-layers", config.depth, {}).status());
  NS_RETURN_IF_ERROR(ParsePlaces(f.figure_heads, "--figure-heads", config.heads, {}).status());
  if (f.figures.empty() && !(f.figure_layers.empty() && f.figure_heads.empty()))
    return CallError("--figure-layers or --figure-heads without --figures", "", "name a folder by --figures");
  OutputPlaces places{.others = {f.output}};
  if (!f.figures.empty()) places.new_folders.push_back(f.figures);
  places.inputs = task.files.inputs;
  places.inputs.push_back(f.pictures.prompts_file);
  return CheckOutputs(places);
}

Status RunCalibrate(CalibrateFlags f, CommandLine& line) {
  NS_RETURN_IF_ERROR(UseBundledPrompts(f));
  NS_RETURN_IF_ERROR(CheckFlags(f.pictures));
  if (f.pictures.seed.empty()) f.pictures.seed = "0";  // the same plan again, unless another is asked for
  Progress progress = line.MakeProgress();
  NS_ASSIGN_OR_RETURN(GenerateTask task, PrepareTask(f.pictures, progress));
  NS_RETURN_IF_ERROR(ChoosePictures(f, task));
  NS_ASSIGN_OR_RETURN(const PlanSettings settings, SettingsOf(f, task));
  if (!f.pictures.memory_limit.empty()) {
    NS_ASSIGN_OR_RETURN(const int64_t limit, ParseBytes(f.pictures.memory_limit, "--memory-limit"));
    NS_RETURN_IF_ERROR(CheckMemory(task.info, task.plan, limit));
  }
  NS_RETURN_IF_ERROR(CheckPlaces(f, task));

  MemoryLedger ledger;
  const OpContext ops(f.pictures.reference ? Backend::kReference : Backend::kFast, &ledger);
  const CalibrationRun run{.task = task,
                           .statistics = {.top = f.top, .sample = f.sample, .heads = f.heads},
                           .ops = ops,
                           .cancel = &line.cancel,
                           .progress = progress};
  NS_ASSIGN_OR_RETURN(const std::string fingerprint, ModelFingerprint(*task.files.transformer));
  NS_ASSIGN_OR_RETURN(const LoadedModel model, LoadForCalibration(run));
  NS_ASSIGN_OR_RETURN(const std::vector<MeasuredPrompt> measured, MeasurePrompts(run, model));
  const Plan plan = MakePlan(fingerprint, task.pictures[0].request.schedule.maps, measured, settings);
  NS_RETURN_IF_ERROR(WriteFileAtomically(f.output, PlanText(plan)));
  NS_RETURN_IF_ERROR(WriteFigures(f, run, model, plan, measured));
  progress.EndBar();
  fmt::print("{}", Summary(f, plan, measured));
  return absl::OkStatus();
}

}  // namespace

void AddCalibrate(CommandLine& line) {
  AddCommand<CalibrateFlags>(line, "calibrate", "prompts to a ScaleKV plan", Declare, RunCalibrate);
}

}  // namespace nextscale
