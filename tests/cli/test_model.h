// What the command line's tests share: a model's shape without a model, and flags parsed as from a shell.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/generate_flags.h"
#include "engine/model_info.h"

namespace nextscale {

// 16 pixels a token, 13 scales.
inline ModelInfo TestModelInfo() {
  ModelInfo info;
  info.transformer = TransformerConfig{};
  info.transformer->depth = 4;
  info.transformer->width = 48;
  info.transformer->heads = 2;
  info.transformer->bits = 6;
  info.transformer->levels = 13;
  info.vae = VaeConfig{};
  info.vae->bits = 6;
  info.vae->multipliers = {1, 2, 4, 4, 4};
  return info;
}

// Throws CLI::Error as the parser does.
inline GenerateFlags ParseGenerate(std::vector<std::string> arguments) {
  CLI::App app;
  GenerateFlags flags;
  DeclareGenerateFlags(app, flags);
  std::reverse(arguments.begin(), arguments.end());  // CLI11's order
  app.parse(arguments);
  return flags;
}

}  // namespace nextscale
