// The flags of `generate`: declaration and values.
#include "cli/generate_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cli/flag_list.h"
#include "cli/type_flags.h"

namespace nextscale {
namespace {

// Text taken as it is: CLI11 gives an empty string, "{}" and "[a,b]" meanings of its own when it fills a
// value.
template <typename Set>
CLI::Option* AddText(CLI::App& app, const std::string& names, Set set, const std::string& help) {
  CLI::callback_t store = [set](const CLI::results_t& results) {
    for (const std::string& text : results) set(text);
    return true;
  };
  return app.add_option(names, std::move(store), help)->type_name("TEXT");
}

void DeclarePrompts(CLI::App& app, GenerateFlags& f) {
  AddText(
      app, "-p,--prompt", [&f](const std::string& text) { f.prompts.push_back(text); },
      "what to draw; repeatable")
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false);
  app.add_option(
         "--prompts", f.prompts_file,
         "a file with a prompt a line, or JSON lines {\"prompt\": ..., any setting}; - reads standard "
         "input")
      ->type_name("FILE");
  AddText(
      app, "-n,--negative", [&f](const std::string& text) { f.negative = text; },
      "what not to draw: replaces the learned unconditional text");
  app.add_option("-s,--seed", f.seed, "unsigned 64 bits; picture i has seed + i (default: random, reported)")
      ->type_name("N");
}

void DeclareNumbers(CLI::App& app, GenerateFlags& f) {
  app.add_option("-b,--batch", f.batch, "pictures at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--count", f.count, "pictures a prompt")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->type_name("N");
}

void DeclareOutputs(CLI::App& app, GenerateFlags& f) {
  app.add_option("-o,--output", f.output,
                 "PNG, JPEG or WebP by its ending; %d or %04d numbers; a folder gets names of its own "
                 "(default: picture.png; picture-%04d.png if there are several)")
      ->type_name("PATH");
  app.add_option("--grid", f.grid, "a contact sheet of all pictures too")->type_name("PATH");
  app.add_option("--save-bits", f.save_bits,
                 "the tokens as safetensors (scaleNN.bits, u8 [1, d, h, w]); numbered if there are several "
                 "pictures")
      ->type_name("FILE");
  app.add_option("--preview", f.preview, "a folder for the picture after every scale")->type_name("DIR");
  AddText(
      app, "--preview-size", [&f](const std::string& text) { f.preview_size = text.empty() ? "full" : text; },
      "map: previews at the current map's own size (default); full, or no value: at the finished picture's")
      ->expected(0, 1)
      ->type_name("WHICH");
  app.add_flag("--kept", f.kept,
               "with --preview: another picture of each pruned scale, dark where tokens were left out");
  app.add_option("--report", f.report, "seconds, memory and settings as JSON")->type_name("FILE");
  app.add_flag("--plan", f.plan, "says what would be loaded, memory and seconds, and stops");
  app.add_flag("--no-metadata", f.no_metadata, "pictures don't carry their settings");
}

void DeclareSampling(CLI::App& app, GenerateFlags& f) {
  app.add_option("--size", f.size.size, "in pixels, snapped to a schedule that the model knows")
      ->type_name("WxH");
  app.add_option("--aspect", f.size.aspect, "width to height (default: 1:1)")->type_name("W:H");
  app.add_option("--pixels", f.size.pixels,
                 "0.06M, 0.25M, 0.60M or 1M (default: what the model was trained at, or 1M)")
      ->type_name("N");
  app.add_option(
         "--cfg", f.cfg,
         "guidance: a number, or a comma list with one a scale (default: the package's, or 3; 1: none)")
      ->type_name("X");
  app.add_option("--tau", f.tau,
                 "temperature: a number, or a comma list with one a scale (default: the package's, or 1)")
      ->type_name("X");
  app.add_option("--top-p", f.top_p, "0 (off) to 1 (default: the package's, or 0.97)")->type_name("X");
  app.add_option("--top-k", f.top_k,
                 "0: off; a bit has two values, so 2 and more change nothing (default: 900)")
      ->type_name("N");
  app.add_option("--cfg-insertion-layer", f.cfg_insertion_layer,
                 "where guidance acts: 0 on the logits, -n after the n-th block from the end; a comma list "
                 "combines (default: 0)")
      ->type_name("N");
  app.add_option("--rng", f.rng, "whose draws: philox, or torch to replay its CPU generator")
      ->check(CLI::IsMember({"philox", "torch"}))
      ->capture_default_str()
      ->type_name("NAME");
}

void DeclareGivenBits(CLI::App& app, GenerateFlags& f) {
  app.add_option("--from-bits", f.from_bits, "start from these tokens (of --save-bits or tokenize)")
      ->type_name("FILE");
  app.add_option("--keep-scales", f.keep_scales,
                 "how many scales of --from-bits to keep; the rest are drawn anew (default: all it holds)")
      ->check(CLI::Range(0, 13))
      ->type_name("K");
}

void DeclareMachine(CLI::App& app, GenerateFlags& f) {
  app.add_option("--type", f.type, kTypeHelp)->type_name("TYPE");
  app.add_option("--memory-limit", f.memory_limit,
                 "e.g. 12G (GiB): checked before anything is loaded (default: none)")
      ->type_name("SIZE");
  app.add_flag("--reference", f.reference, "the plain scalar form of every op: slow, for comparison");
}

// Comma-separated items, each parsed by `parse(item, value) -> bool`.
template <typename T, typename Parse>
StatusOr<std::vector<T>> ParseList(const std::string& text, const std::string& flag, const char* kind,
                                   Parse parse) {
  std::vector<T> out;
  std::string_view rest = text;
  for (;;) {
    const size_t comma = rest.find(',');
    const std::string item(rest.substr(0, comma));
    T value{};
    if (!parse(item, value)) {
      return CallError(fmt::format("{} {}", flag, text), fmt::format("'{}' is not {}", item, kind),
                       "give a number, or a comma list");
    }
    out.push_back(value);
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

template <typename T>
bool ParseFinite(const std::string& text, T& value) {
  return ParseWhole<T>(text, value) && std::isfinite(value);
}

}  // namespace

void DeclareRequestFlags(CLI::App& app, GenerateFlags& flags) {
  AddModelFlags(app, flags.model);
  DeclarePrompts(app, flags);
  DeclareSampling(app, flags);
  DeclareMachine(app, flags);
}

void DeclareBatchFlags(CLI::App& app, GenerateFlags& flags) {
  DeclareRequestFlags(app, flags);
  DeclareNumbers(app, flags);
  DeclareGivenBits(app, flags);
  app.add_option("--uncond-until", flags.uncond_until,
                 "last scale, from 0, that runs the unconditional stream; after it guidance is 1 and that "
                 "stream's cache is freed (default: all do)")
      ->type_name("K");
  AddKvFlags(app, flags.kv);
  AddPruneFlags(app, flags.prune);
}

void DeclareGenerateFlags(CLI::App& app, GenerateFlags& flags) {
  DeclareBatchFlags(app, flags);
  DeclareOutputs(app, flags);
  app.footer("Example: nextscale generate -p \"red apple, fluent 3d style\" -s 7 -o apple.png");
}

Status CheckFlags(const GenerateFlags& f) {
  if (!f.prompts.empty() && !f.prompts_file.empty())
    return CallError("--prompt together with --prompts", "", "leave one out");
  if (f.prompts.empty() && f.prompts_file.empty())
    return CallError("no prompt", "", "give one by --prompt, or a file of them by --prompts");
  if (!f.kv.plan.empty() && f.kv.policy == "full" && f.prompts_file.empty())
    return CallError("--kv-plan with --kv full", "the full cache needs no plan", "--kv scalekv too");
  if (f.keep_scales && f.from_bits.empty())
    return CallError("--keep-scales without --from-bits", "", "name the bits to keep by --from-bits");
  if (f.preview_size != "map" && f.preview_size != "full")
    return CallError(fmt::format("--preview-size {}", f.preview_size), "unknown", "map or full");
  if (f.kept && f.preview.empty())
    return CallError("--kept without --preview", "", "name a folder by --preview");
  if (f.preview_size != "map" && f.preview.empty())
    return CallError("--preview-size without --preview", "", "name a folder by --preview");
  return absl::OkStatus();
}

StatusOr<std::vector<float>> ParseNumbers(const std::string& text, const std::string& flag) {
  return ParseList<float>(text, flag, "a number", ParseFinite<float>);
}

StatusOr<std::vector<double>> ParseDoubles(const std::string& text, const std::string& flag) {
  return ParseList<double>(text, flag, "a number", ParseFinite<double>);
}

StatusOr<std::vector<int>> ParseIntegers(const std::string& text, const std::string& flag) {
  return ParseList<int>(text, flag, "a whole number",
                        [](const std::string& item, int& value) { return ParseWhole(item, value); });
}

StatusOr<int64_t> ParseBytes(const std::string& text, const std::string& flag) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  constexpr double kKiB = 1024, kMost = 1e15;
  double unit = 0;
  const std::string_view suffix = end;
  if (suffix.empty()) unit = 1;
  if (suffix == "K" || suffix == "KiB") unit = kKiB;
  if (suffix == "M" || suffix == "MiB") unit = kKiB * kKiB;
  if (suffix == "G" || suffix == "GiB") unit = kKiB * kKiB * kKiB;
  if (suffix == "T" || suffix == "TiB") unit = kKiB * kKiB * kKiB * kKiB;
  if (text.empty() || unit == 0 || !(value > 0) || value * unit > kMost) {
    return CallError(fmt::format("{} {}", flag, text), "expected a number of bytes, or one with K, M, G or T",
                     fmt::format("e.g. {} 12G", flag));
  }
  return static_cast<int64_t>(value * unit);
}

StatusOr<uint64_t> ParseSeed(const std::string& text) {
  uint64_t seed = 0;
  if (!ParseWhole(text, seed))
    return CallError(fmt::format("--seed {}", text),
                     "expected a whole number from 0 to 18446744073709551615");
  return seed;
}

}  // namespace nextscale
