#include "checkpoint/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/mapped_file.h"
#include "checkpoint/package_format.h"
#include "checkpoint/parts.h"
#include "checkpoint/weight_file.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostTokenizerBytes = size_t{64} << 20;

std::shared_ptr<const TensorSource>& Slot(ModelFiles& files, PartKind kind) {
  return kind == PartKind::kTransformer ? files.transformer : kind == PartKind::kVae ? files.vae : files.text;
}

void NotePassedOver(ModelFiles& files, const std::string& path, const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  constexpr size_t kShown = 8;
  std::string list;
  for (size_t i = 0; i < std::min(kShown, keys.size()); ++i) list += (i ? ", " : "") + keys[i];
  if (keys.size() > kShown) list += ", …";
  files.notes.push_back(fmt::format("{}: {} unknown keys passed over: {}", path, keys.size(), list));
}

void NoteInputs(const StoredFile& file, ModelFiles& files) {
  std::set<std::string> paths = {file.path};
  for (const StoredTensor& t : file.tensors) paths.insert(t.file->path());
  files.inputs.insert(files.inputs.end(), paths.begin(), paths.end());
}

Status AddPart(PartKind kind, StoredFile file, ModelFiles& files) {
  const std::string path = file.path;
  NoteInputs(file, files);
  NS_ASSIGN_OR_RETURN(CanonicalPart part, Canonicalise(kind, std::move(file)));
  NotePassedOver(files, path, part.passed_over);
  for (const auto& [name, value] : part.options) files.options[name] = value;
  NS_ASSIGN_OR_RETURN(Slot(files, kind), StoredTensors::Create(path, std::move(part.tensors)));
  return absl::OkStatus();
}

// What the shapes of a T5 don't tell.
Status ReadTextConfig(const std::string& path, ModelFiles& files) {
  NS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, 1 << 20));
  const json config = json::parse(text, nullptr, false);
  if (!config.is_object())
    return FileError(fmt::format("{} is not a JSON object", path), "", "copy or download it again");
  const std::string form = config.contains("feed_forward_proj") && config["feed_forward_proj"].is_string()
                               ? config["feed_forward_proj"].get<std::string>()
                               : "gated-gelu";
  if (form != "gated-gelu")
    return FileError(fmt::format("{}: feed_forward_proj is {}", path, form), "expected gated-gelu (T5 v1.1)",
                     "use flan-t5-xl");
  for (const auto& [key, option] :
       {std::pair("relative_attention_max_distance", "text.relative_attention_max_distance"),
        std::pair("layer_norm_epsilon", "text.layer_norm_epsilon")}) {
    if (!config.contains(key)) continue;
    if (!config[key].is_number())
      return FileError(fmt::format("{}: {} is not a number", path, key), "", "copy or download it again");
    files.options[option] = {config[key].dump(), path};
  }
  return absl::OkStatus();
}

bool IsTextFolder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "spiece.model", error) && fs::exists(folder / "config.json", error);
}

Status AddTextFolder(const std::string& folder, ModelFiles& files) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return CallError(fmt::format("{} is not a folder", folder), "",
                     "name the Hugging Face T5 folder (config.json, weights, spiece.model)");
  for (const char* name : {"config.json", "spiece.model"}) {
    if (!fs::exists(fs::path(folder) / name, error))
      return CallError(fmt::format("{} has no {}", folder, name),
                       "a Hugging Face T5 folder holds config.json, weights and spiece.model");
  }
  const std::string config = (fs::path(folder) / "config.json").string(),
                    tokenizer = (fs::path(folder) / "spiece.model").string();
  NS_RETURN_IF_ERROR(ReadTextConfig(config, files));
  NS_ASSIGN_OR_RETURN(files.tokenizer, ReadSmallFile(tokenizer, kMostTokenizerBytes));
  files.inputs.insert(files.inputs.end(), {config, tokenizer});
  NS_ASSIGN_OR_RETURN(StoredFile weights, ReadWeights(folder));
  if (PartOf(weights) != PartKind::kText)
    return FileError(fmt::format("{} is not a T5 encoder", weights.path),
                     "expected tensors named encoder.block.0.layer.0.…");
  return AddPart(PartKind::kText, std::move(weights), files);
}

Status AddNamedPart(PartKind kind, const std::string& path, std::string_view flag, ModelFiles& files) {
  if (path.empty()) return absl::OkStatus();
  NS_ASSIGN_OR_RETURN(StoredFile file, ReadWeights(path));
  if (IsPackage(file)) {
    return CallError(fmt::format("{} is a package", path),
                     fmt::format("{} takes a {} alone", flag, Name(kind)), "name a package by --model");
  }
  const std::optional<PartKind> found = PartOf(file);
  if (found != kind) {
    return FileError(
        fmt::format("{} is not a {}", path, Name(kind)),
        found ? fmt::format("its keys are those of a {}", Name(*found)) : "its keys are not known",
        fmt::format("name the {} by {}", Name(kind), flag));
  }
  return AddPart(kind, std::move(file), files);
}

// Parts in a folder of published files: in the folder itself, and in its sub-folders.
class FolderScan {
 public:
  FolderScan(ModelFiles& files, bool want_transformer, bool want_vae, bool want_text)
      : files_(files), want_{want_transformer, want_vae, want_text} {}

  // A file that can't be read may be none of a model's (a folder holds what it holds), or the part that is
  // missing then.
  Status Run(const std::string& folder) {
    NS_RETURN_IF_ERROR(Scan(folder));
    const bool all = (files_.transformer || !want_[0]) && (files_.vae || !want_[1]);
    if (unread_.ok() || !all) return unread_;
    files_.notes.push_back(fmt::format("passed over: {}", std::string(unread_.message())));
    return absl::OkStatus();
  }

 private:
  Status Scan(const std::string& folder) {
    if (IsTextFolder(folder)) return Text(folder);
    NS_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListFolder(folder));
    const bool sharded = std::any_of(paths.begin(), paths.end(),
                                     [](const std::string& path) { return path.ends_with(".index.json"); });
    std::error_code error;
    for (const std::string& path : paths) {
      if (fs::is_directory(path, error)) {
        if (depth_ == 0) {
          ++depth_;
          NS_RETURN_IF_ERROR(Scan(path));
          --depth_;
        }
      } else if (fs::is_regular_file(path, error) && IsWeightFile(path) && !(sharded && IsShard(path))) {
        NS_RETURN_IF_ERROR(File(path));
      }
    }
    return absl::OkStatus();
  }
  // "….-00001-of-00003.…" belongs to the index beside it.
  static bool IsShard(const fs::path& path) { return path.stem().string().find("-of-") != std::string::npos; }

  Status Text(const std::string& folder) {
    if (!Claim(PartKind::kText)) return absl::OkStatus();
    NS_RETURN_IF_ERROR(Single(PartKind::kText, folder));
    return AddTextFolder(folder, files_);
  }
  Status File(const std::string& path) {
    StatusOr<StoredFile> file = ReadWeights(path);
    if (!file.ok()) {
      if (unread_.ok()) unread_ = file.status();
      return absl::OkStatus();
    }
    const std::optional<PartKind> kind = PartOf(*file);
    if (IsPackage(*file) || kind == PartKind::kText || !kind) {
      files_.notes.push_back(fmt::format("{} is passed over: {}", path,
                                         IsPackage(*file) ? "it is a package, to be named itself"
                                         : kind ? "a T5 needs its folder, with config.json and spiece.model"
                                                : "its keys are of no part of a model"));
      return absl::OkStatus();
    }
    if (!Claim(*kind)) return absl::OkStatus();
    NS_RETURN_IF_ERROR(Single(*kind, path));
    return AddPart(*kind, std::move(*file), files_);
  }
  bool Claim(PartKind kind) const { return want_[static_cast<int>(kind)]; }
  Status Single(PartKind kind, const std::string& path) {
    std::string& seen = seen_[static_cast<int>(kind)];
    if (!seen.empty()) {
      return CallError(fmt::format("two files hold a {}", Name(kind)), fmt::format("{} and {}", seen, path),
                       fmt::format("name one by {}", kind == PartKind::kTransformer ? "--transformer"
                                                     : kind == PartKind::kVae       ? "--vae"
                                                                                    : "--text-encoder"));
    }
    seen = path;
    return absl::OkStatus();
  }

  ModelFiles& files_;
  Status unread_;  // of the first file that could not be read
  bool want_[3];
  std::string seen_[3];
  int depth_ = 0;
};

std::string NameOf(const std::string& path) {
  const fs::path p = fs::path(path).lexically_normal();
  return p.has_filename() ? p.stem().string() : p.parent_path().filename().string();
}

// A package, a folder, or one part alone (inspect takes it, generate says what is missing).
Status AddModel(const ModelPaths& paths, ModelFiles& files) {
  files.name = NameOf(paths.model);
  std::error_code error;
  if (fs::is_directory(paths.model, error)) {
    return FolderScan(files, paths.transformer.empty(), paths.vae.empty(), paths.text_encoder.empty())
        .Run(paths.model);
  }
  NS_ASSIGN_OR_RETURN(StoredFile file, ReadWeights(paths.model));
  if (IsPackage(file)) {
    NoteInputs(file, files);
    return ReadPackage(std::move(file), files);
  }
  if (const std::optional<PartKind> kind = PartOf(file)) return AddPart(*kind, std::move(file), files);
  return FileError(fmt::format("{} is neither a package nor a part of a model", paths.model),
                   "its keys are not known",
                   "name a package, a folder of published files, or parts by --transformer, --vae and "
                   "--text-encoder");
}

}  // namespace

StatusOr<ModelFiles> OpenModel(const ModelPaths& paths) {
  ModelFiles files;
  if (!paths.model.empty()) NS_RETURN_IF_ERROR(AddModel(paths, files));
  NS_RETURN_IF_ERROR(AddNamedPart(PartKind::kTransformer, paths.transformer, "--transformer", files));
  NS_RETURN_IF_ERROR(AddNamedPart(PartKind::kVae, paths.vae, "--vae", files));
  if (!paths.text_encoder.empty()) NS_RETURN_IF_ERROR(AddTextFolder(paths.text_encoder, files));
  if (files.name.empty() && !paths.transformer.empty()) files.name = NameOf(paths.transformer);
  for (const auto& [name, value] : paths.options) files.options[name] = value;
  return files;
}

}  // namespace nextscale
