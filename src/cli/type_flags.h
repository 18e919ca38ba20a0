// --type: the arithmetic of all parts, or by part.
#pragma once

#include <string>

#include "base/status.h"
#include "engine/engine.h"

namespace nextscale {

// "bf16", "f32", or a comma list such as "vae=f32,text=bf16"; parts not named have this machine's default:
// bf16 where its products are faster, else f32. Errors: CallError; NotYet for int8.
StatusOr<EngineTypes> ParseTypes(const std::string& text);
// The same, where parts not named have the type in `defaults`.
StatusOr<EngineTypes> ParseTypes(const std::string& text, EngineTypes defaults);
EngineTypes DefaultTypes();
inline constexpr const char* kTypeHelp =
    "type of the arithmetic: f32 or bf16, by part too: transformer=bf16,vae=f32,text=bf16 (default: bf16 "
    "where this machine multiplies it faster, else f32)";

}  // namespace nextscale
