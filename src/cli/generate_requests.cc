// See generate_requests.h.
#include "cli/generate_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"
#include "cli/kv_plans.h"
#include "cli/output_places.h"
#include "cli/prompt_lines.h"

namespace nextscale {
namespace {

StatusOr<std::vector<PromptLine>> PromptLines(const GenerateFlags& flags) {
  if (!flags.prompts_file.empty()) return ReadPromptFile(flags.prompts_file);
  std::vector<PromptLine> lines;
  for (const std::string& prompt : flags.prompts) lines.push_back({.where = "--prompt", .prompt = prompt});
  return lines;
}

// The line's setting, else the flag's, else the package's preset, else the default.
struct Setting {
  const ModelOptions& options;

  std::string Of(const std::optional<std::string>& line, const std::string& flag, const std::string& name,
                 const std::string& otherwise) const {
    if (line) return *line;
    if (!flag.empty()) return flag;
    const auto preset = options.find("preset." + name);
    return preset == options.end() ? otherwise : preset->second.value;
  }
};

StatusOr<std::vector<float>> OneAScale(const std::string& text, const std::string& flag, int scales) {
  NS_ASSIGN_OR_RETURN(std::vector<float> values, ParseNumbers(text, flag));
  if (values.size() == 1) values.resize(scales, values[0]);
  return values;
}

// A line's size replaces the flags' whole; its aspect and pixels go beside the flags' other one.
SizeFlags SizeOf(const PromptLine& line, const SizeFlags& flags) {
  if (!line.size && !line.aspect && !line.pixels) return flags;
  SizeFlags size{.size = line.size.value_or("")};
  size.aspect = line.aspect.value_or(line.size ? "" : flags.aspect);
  size.pixels = line.pixels.value_or(line.size ? "" : flags.pixels);
  return size;
}

// A line's cache and pruning settings replace the flags' one by one.
KvFlags KvOf(const PromptLine& line, KvFlags kv) {
  kv.policy = line.kv.value_or(kv.policy);
  kv.budget = line.kv_budget.value_or(kv.budget);
  kv.plan = line.kv_plan.value_or(kv.plan);
  kv.type = line.kv_type.value_or(kv.type);
  kv.options = line.kv_options.value_or(kv.options);
  return kv;
}

PruneFlags PruneOf(const PromptLine& line, PruneFlags prune) {
  prune.preset = line.prune.value_or(prune.preset);
  prune.ratios = line.prune_ratios.value_or(prune.ratios);
  prune.source = line.prune_source.value_or(prune.source);
  prune.layers = line.prune_layers.value_or(prune.layers);
  return prune;
}

Status CheckText(const std::string& text, const char* what) {
  const size_t zero = text.find('\0');
  if (zero != std::string::npos)
    return CallError(fmt::format("the {} holds a zero byte", what), fmt::format("it is byte {}", zero),
                     "leave it out: no picture can carry it in its settings");
  const size_t bad = FirstInvalidUtf8(text);
  if (bad == std::string::npos) return absl::OkStatus();
  return CallError(fmt::format("the {} is not UTF-8", what), fmt::format("byte {} starts no character", bad));
}

StatusOr<RngKind> ParseRng(const std::string& text) {
  if (text == "philox") return RngKind::kPhilox;
  if (text == "torch") return RngKind::kTorch;
  return CallError(fmt::format("--rng {}", text), "unknown", "philox or torch");
}

Status FillSampling(const PromptLine& line, const GenerateFlags& flags, const Setting& setting,
                    PictureRequest& r) {
  const int scales = r.schedule.scales();
  NS_ASSIGN_OR_RETURN(r.cfg, OneAScale(setting.Of(line.cfg, flags.cfg, "cfg", "3"), "--cfg", scales));
  NS_ASSIGN_OR_RETURN(r.tau, OneAScale(setting.Of(line.tau, flags.tau, "tau", "1"), "--tau", scales));
  NS_ASSIGN_OR_RETURN(const std::vector<double> top_p,
                      ParseDoubles(setting.Of({}, "", "top_p", "0.97"), "--top-p"));
  NS_ASSIGN_OR_RETURN(const std::vector<int> top_k,
                      ParseIntegers(setting.Of({}, "", "top_k", "900"), "--top-k"));
  if (top_p.size() != 1 || top_k.size() != 1)
    return CallError("--top-p or --top-k is a list", "expected one number");
  r.top_p = line.top_p.value_or(flags.top_p.value_or(top_p[0]));
  r.top_k = line.top_k.value_or(flags.top_k.value_or(top_k[0]));
  NS_ASSIGN_OR_RETURN(r.cfg_insertion_layer,
                      ParseIntegers(setting.Of(line.cfg_insertion_layer, flags.cfg_insertion_layer,
                                               "cfg_insertion_layer", "0"),
                                    "--cfg-insertion-layer"));
  r.uncond_until = line.uncond_until ? line.uncond_until : flags.uncond_until;
  NS_ASSIGN_OR_RETURN(r.rng, ParseRng(line.rng.value_or(flags.rng)));
  return absl::OkStatus();
}

// Where the presets alone don't make a request either, theirs is the error, and their file is named.
Status BlamePresets(const Status& status, const ScaleSchedule& schedule, const ModelInfo& info,
                    const Setting& setting) {
  for (const auto& [name, option] : setting.options) {
    if (!name.starts_with(kPresetPrefix)) continue;
    PictureRequest r{.schedule = schedule};
    const ModelOptions alone = {{name, option}};
    Status own = FillSampling({}, {}, {alone}, r);
    if (own.ok()) own = CheckRequest(r, info);
    if (own.ok()) continue;
    std::string why(own.message().data(), own.message().size());
    why = why.substr(0, why.find("\n  try: "));
    if (const size_t line = why.find("\n  why: "); line != why.npos) why.replace(line, 8, ": ");
    return OptionError(name, option, why,
                       option.file.empty() ? "" : "give the setting by its flag, or make the package again");
  }
  return status;
}

// All of a picture's settings but its seed and path. A notice may be added.
StatusOr<Picture> MakePicture(const PromptLine& line, const GenerateFlags& flags, const ModelInfo& info,
                              const Setting& setting, KvPlans& plans, std::vector<std::string>& notices) {
  NS_ASSIGN_OR_RETURN(const ChosenSchedule chosen, ChooseSchedule(SizeOf(line, flags.size), info));
  if (!chosen.notice.empty() && std::find(notices.begin(), notices.end(), chosen.notice) == notices.end())
    notices.push_back(chosen.notice);
  Picture picture{.width = chosen.width, .height = chosen.height};
  PictureRequest& r = picture.request;
  r.prompt = line.prompt;
  r.negative = line.negative ? line.negative : flags.negative;
  r.schedule = chosen.schedule;
  Status sampling = FillSampling(line, flags, setting, r);
  if (sampling.ok()) sampling = CheckRequest(r, info);
  if (!sampling.ok()) return BlamePresets(sampling, r.schedule, info, setting);
  picture.kv_flags = KvOf(line, flags.kv);
  NS_ASSIGN_OR_RETURN(picture.kv, plans.Resolve(picture.kv_flags, r.schedule.scales()));
  picture.prune_flags = PruneOf(line, flags.prune);
  NS_ASSIGN_OR_RETURN(picture.prune, ParsePruneFlags(picture.prune_flags, r.schedule.scales()));
  NS_RETURN_IF_ERROR(CheckText(r.prompt, "prompt"));
  NS_RETURN_IF_ERROR(CheckText(r.negative.value_or(""), "negative prompt"));
  return picture;
}

Status InLine(const std::string& where, const Status& status) {
  const std::string message =
      fmt::format("{}: {}", where, std::string_view(status.message().data(), status.message().size()));
  return Status(status.code(), message);
}

uint64_t RandomSeed() { return std::random_device()(); }

std::string DefaultOutput(int64_t total) { return total == 1 ? "picture.png" : "picture-%04d.png"; }

}  // namespace

StatusOr<PictureList> MakePictureList(const GenerateFlags& flags, const ModelInfo& info,
                                      const ModelFiles& files) {
  uint64_t first_seed = RandomSeed();
  if (!flags.seed.empty()) {
    NS_ASSIGN_OR_RETURN(first_seed, ParseSeed(flags.seed));
  }
  NS_ASSIGN_OR_RETURN(const std::vector<PromptLine> lines, PromptLines(flags));
  const int64_t total = static_cast<int64_t>(lines.size()) * flags.count;
  const std::string output = flags.output.empty() ? DefaultOutput(total) : flags.output;
  const Setting setting{files.options};
  KvPlans plans(files, *info.transformer);
  PictureList out;
  for (const PromptLine& line : lines) {
    StatusOr<Picture> made = MakePicture(line, flags, info, setting, plans, out.notices);
    if (!made.ok()) return flags.prompts_file.empty() ? made.status() : InLine(line.where, made.status());
    for (int64_t copy = 0; copy < flags.count; ++copy) {
      Picture picture = *made;
      const int64_t index = static_cast<int64_t>(out.pictures.size());
      picture.request.seed =
          line.seed ? *line.seed + static_cast<uint64_t>(copy) : first_seed + static_cast<uint64_t>(index);
      NS_ASSIGN_OR_RETURN(picture.output,
                          line.output ? NumberedPath(*line.output, copy, flags.count, picture.request.seed)
                                      : NumberedPath(output, index, total, picture.request.seed));
      out.pictures.push_back(std::move(picture));
    }
  }
  return out;
}

}  // namespace nextscale
