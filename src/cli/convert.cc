// nextscale convert: published files -> one package.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "calibration/apply_plan.h"
#include "calibration/fingerprint.h"
#include "checkpoint/package.h"
#include "cli/command.h"
#include "cli/generate_requests.h"
#include "cli/model_flags.h"
#include "cli/progress.h"
#include "cli/type_flags.h"
#include "engine/model_info.h"

namespace nextscale {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr EngineTypes kStoredTypes{.transformer = DType::kBF16, .vae = DType::kF32, .text = DType::kBF16};

struct ConvertFlags {
  ModelFlags model;
  std::string output, type, name, trained_pixels, plan;
  std::vector<std::string> presets;  // NAME=VALUE
  bool force = false;
};

Status CheckOutput(const ConvertFlags& flags) {
  std::error_code error;
  if (flags.force || !std::filesystem::exists(flags.output, error)) return absl::OkStatus();
  return CallError(flags.output + " exists", "it would be overwritten", "another name, or --force");
}

constexpr std::string_view kPresets[] = {"cfg", "tau", "top_p", "top_k", "cfg_insertion_layer"};

// Name, trained size and presets, which no tensor tells.
Status AddSettings(const ConvertFlags& flags, ModelFiles& files) {
  if (!flags.name.empty()) files.name = flags.name;
  if (!flags.trained_pixels.empty()) {
    NS_RETURN_IF_ERROR(ScalesOfPixels(flags.trained_pixels).status());
    files.options["trained_pixels"] = flags.trained_pixels;
  }
  for (const std::string& preset : flags.presets) {
    const size_t equals = preset.find('=');
    if (equals == std::string::npos || equals == 0)
      return CallError("--preset " + preset, "expected NAME=VALUE", "e.g. --preset cfg=3");
    const std::string name = preset.substr(0, equals);
    if (std::find(std::begin(kPresets), std::end(kPresets), name) == std::end(kPresets))
      return CallError("--preset " + preset, "there is no such setting",
                       fmt::format("one of {}", fmt::join(kPresets, ", ")));
    files.options["preset." + name] = preset.substr(equals + 1);
  }
  return absl::OkStatus();
}

// The plan of --plan, else that of a package that is converted; it has to be one for this model.
Status AddPlan(const ConvertFlags& flags, const ModelInfo& info, ModelFiles& files) {
  if (flags.plan.empty() && files.plan.empty()) return absl::OkStatus();
  if (!info.transformer) return CallError("a plan for a package without a transformer", "");
  if (!flags.plan.empty()) {
    NS_ASSIGN_OR_RETURN(files.plan, ReadSmallFile(flags.plan));
  }
  const std::string name = flags.plan.empty() ? "the plan in " + files.name : flags.plan;
  NS_ASSIGN_OR_RETURN(const PlanFile plan, ParsePlanFile(files.plan, name));
  NS_ASSIGN_OR_RETURN(const std::string fingerprint, ModelFingerprint(*files.transformer));
  return CheckPlanFits(
      plan,
      {.fingerprint = fingerprint, .layers = info.transformer->depth, .heads = info.transformer->heads});
}

// Whether a picture could be asked for with the presets.
Status CheckPresets(const ModelFiles& files, const ModelInfo& info) {
  if (!info.transformer || !info.vae) return absl::OkStatus();
  GenerateFlags flags;
  flags.prompts = {""};
  return MakePictureList(flags, info, files).status();
}

// Tells each twentieth of the way.
std::function<void(int64_t, int64_t)> ProgressOf(Progress& progress) {
  return [&progress, told = int64_t{-1}](int64_t done, int64_t total) mutable {
    const int64_t step = total > 0 ? 20 * done / total : 20;
    if (step == told) return;
    told = step;
    progress.Step("convert", done, total,
                  fmt::format("{:.0f} of {:.0f} MiB", static_cast<double>(done) / kMiB,
                              static_cast<double>(total) / kMiB),
                  nlohmann::ordered_json::object());
  };
}

std::string Summary(const ConvertFlags& flags, const ModelFiles& files, const EngineTypes& types) {
  std::error_code error;
  const double bytes = static_cast<double>(std::filesystem::file_size(flags.output, error));
  std::string parts;
  const auto add = [&](const char* part, bool there, DType type) {
    if (there) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part, Name(type));
  };
  add("transformer", files.transformer != nullptr, types.transformer);
  add("VAE", files.vae != nullptr, types.vae);
  add("text encoder", files.text != nullptr, types.text);
  return fmt::format("{}: {:.1f} MiB; {}\n", flags.output, bytes / kMiB, parts);
}

Status RunConvert(const ConvertFlags& flags, CommandLine& line) {
  NS_ASSIGN_OR_RETURN(const EngineTypes types, ParseTypes(flags.type, kStoredTypes));
  NS_RETURN_IF_ERROR(CheckOutput(flags));
  NS_ASSIGN_OR_RETURN(ModelFiles files, OpenFlaggedModel(flags.model));
  NS_RETURN_IF_ERROR(AddSettings(flags, files));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));  // parts that don't fit are no model
  NS_RETURN_IF_ERROR(AddPlan(flags, info, files));
  NS_RETURN_IF_ERROR(CheckPresets(files, info));
  Progress progress(Progress::FormFor(line.quiet, line.log_json), stderr);
  for (const auto& [part, there] :
       {std::pair("transformer", files.transformer != nullptr), std::pair("VAE", files.vae != nullptr),
        std::pair("text encoder", files.text != nullptr)}) {
    if (!there) progress.Notice(fmt::format("the package has no {}: none was named", part));
  }
  PackageOptions options;
  options.transformer = types.transformer;
  options.vae = types.vae;
  options.text = types.text;
  options.progress = ProgressOf(progress);
  NS_RETURN_IF_ERROR(WritePackage(files, options, flags.output));
  progress.EndBar();
  fmt::print("{}", Summary(flags, files, types));
  return absl::OkStatus();
}

}  // namespace

void AddConvert(CommandLine& line) {
  AddCommand<ConvertFlags>(
      line, "convert", "published files to one package",
      [](CLI::App& command, ConvertFlags& flags) {
        AddModelFlags(command, flags.model);
        command.add_option("-o,--output", flags.output, "the package (.safetensors)")->required();
        command.add_option("--type", flags.type,
                           "type of the stored matrices: f32 or bf16, by part too: vae=bf16 (default: "
                           "transformer=bf16,vae=f32,text=bf16)");
        command.add_option("--name", flags.name,
                           "the model's name in reports (default: the folder's or file's)");
        command.add_option("--trained-pixels", flags.trained_pixels,
                           "the size it was trained at: 0.06M, 0.25M, 0.60M or 1M");
        command
            .add_option("--preset", flags.presets,
                        "NAME=VALUE: a setting to generate with by default, e.g. cfg=3")
            ->allow_extra_args(false);
        command
            .add_option(
                "--plan", flags.plan,
                "a ScaleKV plan that the package will carry (of `calibrate`, or a published budget file)")
            ->type_name("FILE");
        command.add_flag("--force", flags.force, "overwrite the output");
        command.footer(
            "Example: nextscale convert --transformer infinity_2b_reg.pth --vae infinity_vae_d32reg.pth "
            "--text-encoder flan-t5-xl "
            "--trained-pixels 1M --preset cfg=4 -o infinity-2b.safetensors");
      },
      RunConvert);
}

}  // namespace nextscale
