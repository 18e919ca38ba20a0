#include "checkpoint/model_options.h"

#include <fmt/format.h>

namespace nextscale {

Status OptionError(std::string_view name, const ModelOption& option, std::string_view why,
                   std::string_view to_try) {
  const bool preset = name.starts_with(kPresetPrefix);
  if (preset) name.remove_prefix(kPresetPrefix.size());
  const std::string what = fmt::format("{} {}={}", preset ? "preset" : "option", name, option.value);
  if (option.file.empty()) return CallError("--" + what, why, to_try);
  return FileError(fmt::format("{}: {}", option.file, what), why, to_try);
}

}  // namespace nextscale
