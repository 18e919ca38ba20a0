// The settings that a picture carries, and back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/generate_requests.h"
#include "engine/engine.h"
#include "metrics/image_io.h"

namespace nextscale {

// What all pictures of a run share.
struct RunSettings {
  std::string model;       // its name
  ModelFlags model_flags;  // as the user gave them; empty for the bundled model
  EngineTypes types;
  std::string from_bits;
  int keep_scales = 0;  // with from_bits
  bool reference = false;
};

nlohmann::ordered_json SettingsJson(const Picture& picture, const RunSettings& run);
// Keys "parameters" (A1111 form) and "nextscale" (all of it as JSON).
ImageText SettingsText(const Picture& picture, const RunSettings& run);

// The arguments of `generate` that make the picture again, from the JSON of the key "nextscale". Errors:
// FileError naming what is missing or of another form.
StatusOr<std::vector<std::string>> SettingsArguments(const std::string& json_text);
// The same as a command for a shell.
StatusOr<std::string> SettingsCommand(const std::string& json_text);

}  // namespace nextscale
