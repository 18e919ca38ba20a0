#include "cli/inspect_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "engine/memory_plan.h"

namespace nextscale {
namespace {

using json = nlohmann::ordered_json;

constexpr double kMiB = 1024.0 * 1024.0;

// File, types and size of a part.
json PartOf(const TensorSource& source) {
  int64_t tensors = 0, parameters = 0, bytes = 0;
  std::map<std::string, int64_t> types;
  for (const TensorInfo* t : source.List()) {
    const int64_t size = t->shape.elements() * static_cast<int64_t>(SizeOf(t->dtype));
    ++tensors;
    parameters += t->shape.elements();
    bytes += size;
    types[std::string(Name(t->dtype))] += size;
  }
  return {{"file", source.Describe()},
          {"tensors", tensors},
          {"parameters", parameters},
          {"bytes", bytes},
          {"types", types}};
}

json ShapeOf(const TransformerConfig& c) {
  return {{"depth", c.depth},
          {"width", c.width},
          {"heads", c.heads},
          {"head_dim", c.head_dim()},
          {"ffn", c.ffn},
          {"swiglu", c.swiglu},
          {"ca_gamma", c.ca_gamma},
          {"chunks", c.chunks},
          {"bits", c.bits},
          {"levels", c.levels},
          {"text_width", c.text_width},
          {"text_rows", c.text_rows},
          {"pool_heads", c.pool_heads},
          {"add_lvl_embeding_only_first_block", c.level_each_chunk ? 0 : 1},
          {"rope2d_normalized_by_hw", static_cast<int>(c.rope_kind)}};
}

json ShapeOf(const VaeConfig& c) {
  return {{"bits", c.bits},
          {"stride", c.stride()},
          {"base_channels", c.base_channels},
          {"multipliers", c.multipliers},
          {"decoder_res_blocks", c.decoder_res_blocks}};
}

json ShapeOf(const T5Config& c) {
  return {{"width", c.width},
          {"layers", c.layers},
          {"heads", c.heads},
          {"head_dim", c.head_dim},
          {"ffn", c.ffn},
          {"vocabulary", c.vocabulary},
          {"relative_buckets", c.buckets},
          {"relative_max_distance", c.max_distance}};
}

json Parts(const ModelFiles& files, const ModelInfo& info) {
  json parts = json::object();
  const auto add = [&](const char* name, const TensorSource& source, json shape) {
    parts[name] = PartOf(source);
    parts[name]["shape"] = std::move(shape);
  };
  if (info.transformer) add("transformer", *files.transformer, ShapeOf(*info.transformer));
  if (info.vae) add("vae", *files.vae, ShapeOf(*info.vae));
  if (info.text) add("text", *files.text, ShapeOf(*info.text));
  return parts;
}

// What the parts that are there need beside them. Patchify is known once both transformer and VAE are.
json Pairs(const ModelInfo& info) {
  json pairs = json::object();
  if (info.transformer) {
    const int64_t bits = info.transformer->bits;
    pairs["vae"] = json::array({{{"bits", bits}, {"patchify", false}}});
    if (bits % 4 == 0) pairs["vae"].push_back({{"bits", bits / 4}, {"patchify", true}});
    pairs["text_encoder"] = {{"width", info.transformer->text_width}};
  } else {
    if (info.vae)
      pairs["transformer"] = json::array({{{"bits", info.vae->bits}, {"patchify", false}},
                                          {{"bits", 4 * info.vae->bits}, {"patchify", true}}});
    if (info.text) pairs["transformer_text_width"] = info.text->width;
  }
  return pairs;
}

StatusOr<json> MemoryRow(const ModelInfo& info, int scales, int64_t batch, DType type, int threads) {
  const PlanRequest request{.schedule = MakeSchedule(1.0, scales),
                            .batch = batch,
                            .types = {.transformer = type, .vae = type, .text = type},
                            .threads = threads};
  NS_ASSIGN_OR_RETURN(const MemoryPlan plan, PlanMemory(info, request));
  json row = {{"pixels", PixelsOfScales(scales)},
              {"batch", batch},
              {"type", std::string(Name(type))},
              {"peak", plan.peak}};
  for (int a = 0; a < kAccounts; ++a)
    row["accounts"][std::string(Name(static_cast<Account>(a)))] = plan.accounts[a];
  return row;
}

// With guidance, 1:1, the full cache.
StatusOr<json> Memory(const ModelInfo& info, int threads) {
  json rows = json::array();
  if (!info.transformer || !info.vae || !info.text) return rows;
  for (const int scales : {7, 10, 12, 13}) {
    if (scales > info.transformer->levels || (info.trained_scales > 0 && scales > info.trained_scales))
      continue;
    for (const DType type : {DType::kBF16, DType::kF32}) {
      NS_ASSIGN_OR_RETURN(json row, MemoryRow(info, scales, 1, type, threads));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// "preset.NAME" options apart from the model's own.
json Options(const ModelOptions& options, bool presets) {
  json out = json::object();
  for (const auto& [name, option] : options) {
    if (name.starts_with(kPresetPrefix) == presets)
      out[presets ? name.substr(kPresetPrefix.size()) : name] = option.value;
  }
  return out;
}

std::string Line(std::string_view label, const std::string& text) {
  return fmt::format("  {:<14} {}\n", label, text);
}

// "depth 32, width 2048, ..."
std::string Joined(const json& object) {
  std::string out;
  for (const auto& [name, value] : object.items()) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name,
                       value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

std::string PartText(const std::string& name, const json& part) {
  std::string types;
  for (const auto& [type, bytes] : part["types"].items()) {
    types += fmt::format("{}{} {:.1f} MiB", types.empty() ? "" : ", ", type, bytes.get<double>() / kMiB);
  }
  return fmt::format("{}\n", name) + Line("file", part["file"].get<std::string>()) +
         Line("holds", fmt::format("{} tensors, {:.2f} M parameters, {}", part["tensors"].get<int64_t>(),
                                   part["parameters"].get<double>() / 1e6, types)) +
         Line("shape", Joined(part["shape"]));
}

std::string PairsText(const json& pairs) {
  std::string out;
  const auto bits = [](const json& choices) {
    std::string text;
    for (const json& c : choices) {
      text += fmt::format("{}{} bits{}", text.empty() ? "" : ", or ", c["bits"].get<int64_t>(),
                          c["patchify"].get<bool>() ? " with spatial patchify" : "");
    }
    return text;
  };
  if (pairs.contains("vae")) out += Line("VAE", bits(pairs["vae"]));
  if (pairs.contains("text_encoder"))
    out += Line("text encoder", fmt::format("width {}", pairs["text_encoder"]["width"].get<int64_t>()));
  if (pairs.contains("transformer")) out += Line("transformer", bits(pairs["transformer"]));
  if (pairs.contains("transformer_text_width")) {
    out += Line("transformer", fmt::format("text width {}", pairs["transformer_text_width"].get<int64_t>()));
  }
  return out.empty() ? "" : "pairs with\n" + out;
}

std::string MemoryText(const json& rows) {
  if (rows.empty()) return "";
  std::string out = "memory, one picture at a time, 1:1, with guidance, full cache\n";
  for (const json& row : rows) {
    std::string accounts;
    for (const auto& [name, bytes] : row["accounts"].items()) {
      if (bytes.get<int64_t>() > 0)
        accounts +=
            fmt::format("{}{} {:.0f}", accounts.empty() ? "" : ", ", name, bytes.get<double>() / kMiB);
    }
    out += Line(fmt::format("{} {}", row["pixels"].get<std::string>(), row["type"].get<std::string>()),
                fmt::format("peak {:.0f} MiB ({})", row["peak"].get<double>() / kMiB, accounts));
  }
  return out;
}

}  // namespace

StatusOr<json> DescribeModel(const ModelFiles& files, int threads) {
  if (!files.transformer && !files.vae && !files.text) {
    return FileError(files.name + " holds no part of a model",
                     "neither transformer, VAE nor text encoder was recognised by its keys");
  }
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  json out = {{"name", files.name}, {"parts", Parts(files, info)}, {"pairs_with", Pairs(info)}};
  if (info.transformer && info.vae) {
    out["patchify"] = info.patchify;
    out["pixels_per_token"] = info.pixels_per_token();
  }
  out["tokenizer_bytes"] = files.tokenizer.size();
  out["plan"] = !files.plan.empty();
  out["trained_pixels"] = info.trained_scales ? json(PixelsOfScales(info.trained_scales)) : json();
  out["options"] = Options(files.options, false);
  out["presets"] = Options(files.options, true);
  out["notes"] = files.notes;
  NS_ASSIGN_OR_RETURN(out["memory"], Memory(info, threads));
  return out;
}

std::string DescriptionText(const json& d) {
  std::string out = d["name"].get<std::string>() + "\n";
  for (const auto& [name, part] : d["parts"].items()) out += PartText(name, part);
  out += PairsText(d["pairs_with"]);
  out += "model\n";
  if (d.contains("patchify")) {
    out += Line("patchify", d["patchify"].get<bool>() ? "yes" : "no");
    out += Line("token", fmt::format("{0}x{0} pixels", d["pixels_per_token"].get<int64_t>()));
  }
  out += Line("tokenizer", d["tokenizer_bytes"].get<int64_t>() ? "yes" : "none");
  out += Line("ScaleKV plan", d["plan"].get<bool>() ? "yes" : "none");
  out += Line("trained at",
              d["trained_pixels"].is_null() ? "not stated" : d["trained_pixels"].get<std::string>());
  if (!d["options"].empty()) out += Line("options", Joined(d["options"]));
  if (!d["presets"].empty()) out += Line("presets", Joined(d["presets"]));
  for (const json& note : d["notes"]) out += Line("note", note.get<std::string>());
  return out + MemoryText(d["memory"]);
}

}  // namespace nextscale
