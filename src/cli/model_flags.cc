#include "cli/model_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

namespace nextscale {
namespace {

namespace fs = std::filesystem;
constexpr const char* kBundled = "models/nextscale-emoji.safetensors";

// What --option may set: what no tensor tells.
constexpr std::string_view kOptions[] = {"rope2d_normalized_by_hw",
                                         "add_lvl_embeding_only_first_block",
                                         "block_chunks",
                                         "apply_spatial_patchify",
                                         "trained_pixels",
                                         "text.relative_attention_max_distance",
                                         "text.layer_norm_epsilon"};

Status CheckOption(const std::string& name) {
  if (std::find(std::begin(kOptions), std::end(kOptions), name) != std::end(kOptions))
    return absl::OkStatus();
  return CallError(fmt::format("--option {}", name), "there is no such option",
                   fmt::format("one of {}", fmt::join(kOptions, ", ")));
}

}  // namespace

void AddModelFlags(CLI::App& command, ModelFlags& flags) {
  command
      .add_option("-m,--model", flags.model,
                  "a package, or a folder with the published files (default: the bundled model)")
      ->type_name("PATH");
  command
      .add_option("--transformer", flags.transformer,
                  "the transformer: .pth, safetensors, or a folder of shards")
      ->type_name("PATH");
  command.add_option("--vae", flags.vae, "the VAE: .pth or safetensors")->type_name("PATH");
  command.add_option("--text-encoder", flags.text_encoder, "the Hugging Face T5 folder")->type_name("PATH");
  command
      .add_option("--option", flags.options,
                  "what no tensor tells, e.g. rope2d_normalized_by_hw=0; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

std::string BundledFile(const std::string& name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& candidate :
       {program.parent_path() / "../share/nextscale" / name, fs::path(NEXTSCALE_SOURCE_DIR) / name}) {
    if (fs::exists(candidate, error)) return candidate.lexically_normal().string();
  }
  return "";
}

std::string BundledModelPath() { return BundledFile(kBundled); }

StatusOr<ModelPaths> FlaggedPaths(const ModelFlags& flags) {
  ModelPaths paths{.model = flags.model,
                   .transformer = flags.transformer,
                   .vae = flags.vae,
                   .text_encoder = flags.text_encoder};
  for (const std::string& option : flags.options) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      return CallError(fmt::format("--option {}", option), "expected NAME=VALUE",
                       "e.g. --option rope2d_normalized_by_hw=0");
    }
    const std::string name = option.substr(0, equals);
    NS_RETURN_IF_ERROR(CheckOption(name));
    paths.options[name] = option.substr(equals + 1);
  }
  if (paths.model.empty() && paths.transformer.empty() && paths.vae.empty() && paths.text_encoder.empty()) {
    paths.model = BundledModelPath();
    if (paths.model.empty()) {
      return CallError("no model was named, and the bundled one was not found",
                       fmt::format("neither {}/{} nor ../share/nextscale/{} beside the program is there",
                                   NEXTSCALE_SOURCE_DIR, kBundled, kBundled),
                       "name one by --model");
    }
  }
  return paths;
}

StatusOr<ModelFiles> OpenFlaggedModel(const ModelFlags& flags) {
  NS_ASSIGN_OR_RETURN(const ModelPaths paths, FlaggedPaths(flags));
  return OpenModel(paths);
}

}  // namespace nextscale
