// Which model: the flags that most commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "checkpoint/model_files.h"

namespace nextscale {

struct ModelFlags {
  std::string model, transformer, vae, text_encoder;
  std::vector<std::string> options;  // NAME=VALUE
};

void AddModelFlags(CLI::App& command, ModelFlags& flags);

// Without any flag: the bundled model. Errors: CallError for an option without '=', or if there is no bundled
// model.
StatusOr<ModelPaths> FlaggedPaths(const ModelFlags& flags);
// Opens what the flags name. Errors: as above, and of OpenModel. The files' notes are for the caller to show.
StatusOr<ModelFiles> OpenFlaggedModel(const ModelFlags& flags);

// Where a bundled file lies, e.g. "models/prompts-calibration.txt": beside the sources the program was built
// from, or under the prefix it was installed to. Empty if nowhere.
std::string BundledFile(const std::string& name);
std::string BundledModelPath();

}  // namespace nextscale
