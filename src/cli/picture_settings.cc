// See picture_settings.h.
#include "cli/picture_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/format.h"
#include "cli/version.h"

namespace nextscale {
namespace {

using json = nlohmann::ordered_json;

// One number if all scales have the same, else a comma list.
std::string ListText(const std::vector<float>& values) {
  const bool same = std::all_of(values.begin(), values.end(), [&](float v) { return v == values[0]; });
  return same ? fmt::format("{}", values[0]) : fmt::format("{}", fmt::join(values, ","));
}

std::string A1111Text(const Picture& p, const RunSettings& run) {
  const PictureRequest& r = p.request;
  std::string text = r.prompt + "\n";
  if (r.negative) text += "Negative prompt: " + *r.negative + "\n";
  return text + fmt::format(
                    "Steps: {}, CFG scale: {}, Seed: {}, Size: {}x{}, Model: {}, Tau: {}, Top-p: {}, "
                    "Version: nextscale {}",
                    r.schedule.scales(), ListText(r.cfg), r.seed, p.width, p.height, run.model,
                    ListText(r.tau), r.top_p, VersionNumber());
}

json Numbers(const std::vector<float>& values) {
  json out = json::array();
  for (const float v : values) out.push_back(ShortDouble(v));
  return out;
}

json ModelJson(const ModelFlags& flags) {
  json out = json::object();
  if (!flags.model.empty()) out["model"] = flags.model;
  if (!flags.transformer.empty()) out["transformer"] = flags.transformer;
  if (!flags.vae.empty()) out["vae"] = flags.vae;
  if (!flags.text_encoder.empty()) out["text-encoder"] = flags.text_encoder;
  if (!flags.options.empty()) out["option"] = flags.options;
  return out;
}

struct TextField {
  const char *key, *flag;
  const std::string& value;
};
std::vector<TextField> TextFields(const KvFlags& kv, const PruneFlags& prune) {
  return {{"kv", "--kv", kv.policy},
          {"kv_budget", "--kv-budget", kv.budget},
          {"kv_plan", "--kv-plan", kv.plan},
          {"kv_type", "--kv-type", kv.type},
          {"kv_options", "--kv-options", kv.options},
          {"prune", "--prune", prune.preset},
          {"prune_ratios", "--prune-ratios", prune.ratios},
          {"prune_source", "--prune-source", prune.source},
          {"prune_layers", "--prune-layers", prune.layers}};
}

void AddTexts(const KvFlags& kv, const PruneFlags& prune, json& out) {
  for (const TextField& field : TextFields(kv, prune)) {
    if (!field.value.empty()) out[field.key] = field.value;
  }
}

// Reads settings back, noting the first that is not as expected.
class Reader {
 public:
  explicit Reader(const json& settings) : settings_(settings) {}

  std::string Text(const char* name) { return Is(name, &json::is_string) ? At(name).get<std::string>() : ""; }
  std::string Unsigned(const char* name) {
    return Is(name, &json::is_number_unsigned) ? At(name).dump() : "";
  }
  std::string Number(const char* name) { return Is(name, &json::is_number) ? At(name).dump() : ""; }
  // A list of numbers as a flag has it: one number if all are equal.
  std::string List(const char* name) {
    if (!Is(name, &json::is_array) || At(name).empty()) return Missing(name);
    const json& list = At(name);
    if (!std::all_of(list.begin(), list.end(), [](const json& v) { return v.is_number(); }))
      return Missing(name);
    if (std::all_of(list.begin(), list.end(), [&](const json& v) { return v == list[0]; }))
      return list[0].dump();
    std::string text;
    for (const json& value : list) text += (text.empty() ? "" : ",") + value.dump();
    return text;
  }
  Status status() const {
    if (missing_.empty()) return absl::OkStatus();
    return FileError(fmt::format("the picture's settings have no usable \"{}\"", missing_),
                     "another program changed them, or another version wrote them");
  }

 private:
  const json& At(const char* name) const { return settings_.at(name); }
  bool Is(const char* name, bool (json::*kind)() const noexcept) {
    const bool is = settings_.contains(name) && (At(name).*kind)();
    if (!is) Missing(name);
    return is;
  }
  std::string Missing(const char* name) {
    if (missing_.empty()) missing_ = name;
    return "";
  }
  const json& settings_;
  std::string missing_;
};

void AddModelArguments(const json& settings, std::vector<std::string>& out) {
  if (!settings.contains("model_files") || !settings["model_files"].is_object()) return;
  for (const auto& [name, value] : settings["model_files"].items()) {
    for (const json& one : value.is_array() ? value : json::array({value})) {
      if (one.is_string()) out.insert(out.end(), {"--" + name, one.get<std::string>()});
    }
  }
}

std::string TypesText(const json& settings) {
  std::string text;
  if (!settings.contains("types") || !settings["types"].is_object()) return text;
  for (const auto& [part, type] : settings["types"].items()) {
    if (type.is_string())
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", part, type.get<std::string>());
  }
  return text;
}

}  // namespace

json SettingsJson(const Picture& p, const RunSettings& run) {
  const PictureRequest& r = p.request;
  json maps = json::array();
  for (const MapSize m : r.schedule.maps) maps.push_back({m.h, m.w});
  json out = {
      {"version", VersionNumber()}, {"model", run.model}, {"model_files", ModelJson(run.model_flags)}};
  out["prompt"] = r.prompt;
  out["negative"] = r.negative ? json(*r.negative) : json(nullptr);
  out["seed"] = r.seed;
  out["rng"] = r.rng == RngKind::kTorch ? "torch" : "philox";
  out["width"] = p.width;
  out["height"] = p.height;
  out["schedule"] = maps;
  out["cfg"] = Numbers(r.cfg);
  out["tau"] = Numbers(r.tau);
  out["top_p"] = r.top_p;
  out["top_k"] = r.top_k;
  out["cfg_insertion_layer"] = r.cfg_insertion_layer;
  if (r.uncond_until) out["uncond_until"] = *r.uncond_until;
  AddTexts(p.kv_flags, p.prune_flags, out);
  out["types"] = {{"transformer", Name(run.types.transformer)},
                  {"vae", Name(run.types.vae)},
                  {"text", Name(run.types.text)}};
  if (run.reference) out["reference"] = true;
  if (!run.from_bits.empty()) {
    out["from_bits"] = run.from_bits;
    out["keep_scales"] = run.keep_scales;
  }
  return out;
}

ImageText SettingsText(const Picture& picture, const RunSettings& run) {
  return {{"parameters", A1111Text(picture, run)},
          {"nextscale", SettingsJson(picture, run).dump(-1, ' ', false, json::error_handler_t::replace)}};
}

StatusOr<std::vector<std::string>> SettingsArguments(const std::string& json_text) {
  const json s = json::parse(json_text, nullptr, false);
  if (!s.is_object()) return FileError("the picture's settings are not a JSON object");
  Reader read(s);
  std::vector<std::string> out;
  AddModelArguments(s, out);
  out.insert(out.end(), {"--prompt", read.Text("prompt")});
  if (s.contains("negative") && !s["negative"].is_null())
    out.insert(out.end(), {"--negative", read.Text("negative")});
  out.insert(out.end(), {"--seed", read.Unsigned("seed"), "--size",
                         read.Unsigned("width") + "x" + read.Unsigned("height"), "--cfg", read.List("cfg"),
                         "--tau", read.List("tau"), "--top-p", read.Number("top_p"), "--top-k",
                         read.Unsigned("top_k"), "--rng", read.Text("rng")});
  const std::string layers = read.List("cfg_insertion_layer");
  if (layers != "0") out.insert(out.end(), {"--cfg-insertion-layer", layers});
  if (s.contains("uncond_until")) out.insert(out.end(), {"--uncond-until", read.Unsigned("uncond_until")});
  for (const TextField& field : TextFields({}, {})) {
    if (s.contains(field.key)) out.insert(out.end(), {field.flag, read.Text(field.key)});
  }
  const std::string types = TypesText(s);
  if (!types.empty()) out.insert(out.end(), {"--type", types});
  if (s.contains("from_bits")) {
    out.insert(out.end(),
               {"--from-bits", read.Text("from_bits"), "--keep-scales", read.Unsigned("keep_scales")});
  }
  if (s.contains("reference")) out.push_back("--reference");
  NS_RETURN_IF_ERROR(read.status());
  return out;
}

StatusOr<std::string> SettingsCommand(const std::string& json_text) {
  NS_ASSIGN_OR_RETURN(const std::vector<std::string> arguments, SettingsArguments(json_text));
  std::string command = "nextscale generate";
  for (const std::string& argument : arguments) command += " " + ShellQuoted(argument);
  return command;
}

}  // namespace nextscale
