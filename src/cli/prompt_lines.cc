// See prompt_lines.h.
#include "cli/prompt_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

namespace nextscale {
namespace {

using nlohmann::json;

struct TextSetting {
  std::string_view name;
  std::optional<std::string> PromptLine::*field;
};
constexpr TextSetting kTextSettings[] = {
    {"negative", &PromptLine::negative},
    {"cfg", &PromptLine::cfg},
    {"tau", &PromptLine::tau},
    {"size", &PromptLine::size},
    {"aspect", &PromptLine::aspect},
    {"pixels", &PromptLine::pixels},
    {"output", &PromptLine::output},
    {"rng", &PromptLine::rng},
    {"cfg_insertion_layer", &PromptLine::cfg_insertion_layer},
    {"kv", &PromptLine::kv},
    {"kv_budget", &PromptLine::kv_budget},
    {"kv_plan", &PromptLine::kv_plan},
    {"kv_type", &PromptLine::kv_type},
    {"kv_options", &PromptLine::kv_options},
    {"prune", &PromptLine::prune},
    {"prune_ratios", &PromptLine::prune_ratios},
    {"prune_source", &PromptLine::prune_source},
    {"prune_layers", &PromptLine::prune_layers},
};
constexpr const char* kExample = R"(e.g. {"prompt": "red apple", "seed": 7, "cfg": 3})";

// Strings, numbers and lists of numbers become the text that a flag would have.
std::optional<std::string> AsFlagText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  if (!value.is_array() || value.empty()) return std::nullopt;
  std::string text;
  for (const json& item : value) {
    if (!item.is_number()) return std::nullopt;
    if (!text.empty()) text += ',';
    text += item.dump();
  }
  return text;
}

// Sets the field of that name. -> why it can't, or empty.
std::string SetField(const std::string& name, const json& value, PromptLine& line) {
  if (name == "prompt") {
    if (!value.is_string()) return "\"prompt\" is not a string";
    line.prompt = value.get<std::string>();
  } else if (value.is_null()) {
    return "";  // as if it were not there
  } else if (name == "seed") {
    if (!value.is_number_unsigned()) return "\"seed\" is not a whole number from 0 to 18446744073709551615";
    line.seed = value.get<uint64_t>();
  } else if (name == "top_p") {
    if (!value.is_number()) return "\"top_p\" is not a number";
    line.top_p = value.get<double>();
  } else if (name == "top_k" || name == "uncond_until") {
    const bool fits = value.is_number_unsigned() &&
                      value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int>::max());
    if (!fits) return fmt::format("\"{}\" is not a whole number from 0", name);
    (name == "top_k" ? line.top_k : line.uncond_until) = value.get<int>();
  } else {
    const auto setting = std::find_if(std::begin(kTextSettings), std::end(kTextSettings),
                                      [&](const TextSetting& s) { return s.name == name; });
    if (setting == std::end(kTextSettings)) return fmt::format("unknown setting \"{}\"", name);
    const std::optional<std::string> text = AsFlagText(value);
    if (!text) return fmt::format("\"{}\" is neither a string nor a number nor a list of numbers", name);
    line.*setting->field = *text;
  }
  return "";
}

StatusOr<PromptLine> ParseJsonLine(const std::string& text, const std::string& where) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return CallError(where, "it is not a JSON object", kExample);
  if (!object.contains("prompt")) return CallError(where, "it has no \"prompt\"", kExample);
  PromptLine line{.where = where};
  for (const auto& [name, value] : object.items()) {
    const std::string why = SetField(name, value, line);
    if (!why.empty()) return CallError(where, why, kExample);
  }
  return line;
}

}  // namespace

StatusOr<std::vector<PromptLine>> ParsePromptLines(std::istream& in, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::vector<PromptLine> lines;
  int64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (number == 1 && text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    if (!text.empty() && text.back() == '\r') text.pop_back();
    const size_t start = text.find_first_not_of(" \t");
    if (start == std::string::npos) continue;
    const std::string where = fmt::format("{}, line {}", name, number);
    if (text[start] == '{') {
      NS_ASSIGN_OR_RETURN(PromptLine line, ParseJsonLine(text, where));
      lines.push_back(std::move(line));
    } else {
      lines.push_back({.where = where, .prompt = text});
    }
  }
  if (lines.empty()) return CallError(fmt::format("{} holds no prompts", name), "", "give one a line");
  return lines;
}

StatusOr<std::vector<PromptLine>> ReadPromptFile(const std::string& path) {
  if (path == "-") return ParsePromptLines(std::cin, "standard input");
  std::error_code error;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, error)) {
    return CallError(fmt::format("cannot read prompts from {}", path),
                     "there is no such file, or it is not readable");
  }
  return ParsePromptLines(file, path);
}

}  // namespace nextscale
