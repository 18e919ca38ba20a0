// Prompts with the settings of their own: from flags, or from a file with a prompt or a JSON object a line.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace nextscale {

// What is not set is as the flags say. Texts have the form of the flags' values.
struct PromptLine {
  std::string where;  // for messages: "prompts.jsonl, line 3"
  std::string prompt;
  std::optional<std::string> negative, cfg, tau, size, aspect, pixels, output, rng, cfg_insertion_layer;
  std::optional<std::string> kv, kv_budget, kv_plan, kv_type, kv_options;
  std::optional<std::string> prune, prune_ratios, prune_source, prune_layers;
  std::optional<uint64_t> seed;
  std::optional<double> top_p;
  std::optional<int> top_k, uncond_until;
};

// Blank lines are passed over; a line that starts with '{' is JSON. Errors: CallError naming `name` and the
// line.
StatusOr<std::vector<PromptLine>> ParsePromptLines(std::istream& in, const std::string& name);
// `path`, or standard input for "-".
StatusOr<std::vector<PromptLine>> ReadPromptFile(const std::string& path);

}  // namespace nextscale
