// What no tensor of a model tells: options of the model, and presets, settings to generate with.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace nextscale {

struct ModelOption {
  std::string value;
  std::string file;  // that says so; empty: the call does

  ModelOption() = default;
  ModelOption(std::string value, std::string file = "") : value(std::move(value)), file(std::move(file)) {}
  ModelOption(const char* value) : value(value) {}
};

// By name; that of a preset is "preset.NAME".
using ModelOptions = std::map<std::string, ModelOption>;
inline constexpr std::string_view kPresetPrefix = "preset.";

// That the option doesn't hold, for the reason `why`: FileError naming the file that says so, else CallError.
Status OptionError(std::string_view name, const ModelOption& option, std::string_view why,
                   std::string_view to_try = "");

}  // namespace nextscale
