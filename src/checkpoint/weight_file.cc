#include "checkpoint/weight_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/safetensors.h"
#include "checkpoint/torch_file.h"
#include "checkpoint/zip_archive.h"

namespace nextscale {
namespace {

using nlohmann::json;

constexpr size_t kMostIndexBytes = size_t{16} << 20;

StatusOr<StoredFile> ReadOneFile(const std::string& path) {
  NS_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const bool torch = LooksLikeZip(file->bytes()) || path.ends_with(".pth") || path.ends_with(".pt") ||
                     path.ends_with(".bin");
  return torch ? ReadTorchFile(path) : ReadSafetensors(path);
}

// All shards that an index json (`weight_map`) names, from its folder.
StatusOr<StoredFile> ReadShards(const std::string& index_path) {
  NS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(index_path, kMostIndexBytes));
  const json index = json::parse(text, nullptr, false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return FileError(fmt::format("{} is not an index of shards", index_path),
                     "expected a JSON object with weight_map", "copy or download it again");
  }
  std::map<std::string, std::set<std::string>> names_of_shard;
  for (const auto& [name, shard] : index["weight_map"].items()) {
    if (!shard.is_string())
      return FileError(fmt::format("{}: weight_map of {} is not a file name", index_path, name));
    const std::string shard_name = shard.get<std::string>();
    if (shard_name.empty() || shard_name.find('/') != std::string::npos || shard_name == "..") {
      return FileError(fmt::format("{}: weight_map of {} is '{}'", index_path, name, shard_name),
                       "shards lie in the index's own folder");
    }
    names_of_shard[shard_name].insert(name);
  }
  StoredFile out{.path = index_path};
  for (auto& [shard_name, missing] : names_of_shard) {
    const std::filesystem::path shard_path = std::filesystem::path(index_path).parent_path() / shard_name;
    std::error_code error;
    if (!std::filesystem::exists(shard_path, error)) {
      return FileError(fmt::format("shard {} is missing", shard_path.string()),
                       fmt::format("{} names it", index_path), "copy or download it too");
    }
    NS_ASSIGN_OR_RETURN(StoredFile shard, ReadOneFile(shard_path.string()));
    for (StoredTensor& t : shard.tensors) {
      if (missing.erase(t.info.name) > 0) out.tensors.push_back(std::move(t));
    }
    out.unreadable.insert(out.unreadable.end(), shard.unreadable.begin(), shard.unreadable.end());
    if (!missing.empty())
      return FileError(
          fmt::format("{} lacks tensor {}", shard_path.string(), *missing.begin()),
          fmt::format("{} says that it holds {}", index_path,
                      missing.size() == 1 ? "it" : fmt::format("it and {} more", missing.size() - 1)),
          "copy or download the shard again");
  }
  return out;
}

}  // namespace

StatusOr<StoredFile> ReadWeights(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error))
    return path.ends_with(".index.json") ? ReadShards(path) : ReadOneFile(path);
  for (const char* name :
       {"model.safetensors.index.json", "model.safetensors", "diffusion_pytorch_model.safetensors.index.json",
        "diffusion_pytorch_model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin"}) {
    const fs::path candidate = fs::path(path) / name;
    if (fs::exists(candidate, error)) return ReadWeights(candidate.string());
  }
  NS_ASSIGN_OR_RETURN(std::vector<std::string> indices, ListFolder(path));
  std::erase_if(indices, [](const std::string& name) { return !name.ends_with(".index.json"); });
  if (indices.size() == 1) return ReadShards(indices[0]);
  return CallError(fmt::format("{} holds no weights", path),
                   "expected an index json, model.safetensors or pytorch_model.bin", "name the file itself");
}

StatusOr<std::vector<std::string>> ListFolder(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  // Not a range-for: its steps throw.
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    paths.push_back(it->path().string());
  if (error) return CallError(fmt::format("cannot list {}", folder), error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool IsWeightFile(const std::string& path) {
  constexpr std::array<std::string_view, 6> kEndings = {".pth",  ".pt",          ".bin",
                                                        ".ckpt", ".safetensors", ".index.json"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view e) { return path.ends_with(e); });
}

}  // namespace nextscale
