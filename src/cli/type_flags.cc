#include "cli/type_flags.h"

#include <fmt/format.h>

#include <sstream>

#include "ops/isa.h"

namespace nextscale {
namespace {

StatusOr<DType> ParseType(const std::string& text) {
  if (text == "f32") return DType::kF32;
  if (text == "bf16") return DType::kBF16;
  if (text == "int8") return NotYet("--type int8");
  return CallError(fmt::format("--type {}", text), "unknown type", "f32 or bf16");
}

}  // namespace

EngineTypes DefaultTypes() {
  const DType type = HasFastBf16(EffectiveIsa()) ? DType::kBF16 : DType::kF32;
  return {.transformer = type, .vae = type, .text = type};
}

StatusOr<EngineTypes> ParseTypes(const std::string& text, EngineTypes types) {
  std::stringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t equals = item.find('=');
    const std::string part = equals == std::string::npos ? "" : item.substr(0, equals);
    NS_ASSIGN_OR_RETURN(const DType type,
                        ParseType(equals == std::string::npos ? item : item.substr(equals + 1)));
    if (equals == std::string::npos) {
      types = {.transformer = type, .vae = type, .text = type};
    } else if (part == "transformer") {
      types.transformer = type;
    } else if (part == "vae") {
      types.vae = type;
    } else if (part == "text") {
      types.text = type;
    } else {
      return CallError(fmt::format("--type {}", item), fmt::format("unknown part '{}'", part),
                       "transformer, vae or text");
    }
  }
  return types;
}

StatusOr<EngineTypes> ParseTypes(const std::string& text) { return ParseTypes(text, DefaultTypes()); }

}  // namespace nextscale
