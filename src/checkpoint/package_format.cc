#include "checkpoint/package_format.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nextscale {
namespace {

using nlohmann::json;

std::string BytesOf(const StoredTensor& t) {
  return {reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()};
}

Status ReadMetadata(const std::string& where, const std::string& text, ModelFiles& files) {
  const json meta = json::parse(text, nullptr, false);
  const auto broken = [&](const std::string& why) {
    return FileError(fmt::format("{}: its nextscale metadata is not as expected", where), why,
                     "make the package again with `nextscale convert`");
  };
  if (!meta.is_object()) return broken("it is not a JSON object");
  if (!meta.contains("version") || !meta["version"].is_number_integer()) return broken("it has no version");
  if (meta["version"].get<int64_t>() != kPackageVersion) {
    return FileError(fmt::format("{} is a package of version {}", where, meta["version"].dump()),
                     fmt::format("this program reads version {}", kPackageVersion),
                     "use a newer nextscale, or make the package again");
  }
  for (const auto& [section, prefix] :
       {std::pair("options", std::string()), std::pair("presets", std::string(kPresetPrefix))}) {
    if (!meta.contains(section)) continue;
    if (!meta[section].is_object()) return broken(fmt::format("{} is not an object", section));
    for (const auto& [name, value] : meta[section].items()) {
      if (!value.is_string()) return broken(fmt::format("{} {} is not a string", section, name));
      files.options[prefix + name] = {value.get<std::string>(), where};
    }
  }
  if (meta.contains(kTrainedPixels) && meta[std::string(kTrainedPixels)].is_string()) {
    files.options[std::string(kTrainedPixels)] = {meta[std::string(kTrainedPixels)].get<std::string>(),
                                                  where};
  }
  if (meta.contains("name") && meta["name"].is_string()) files.name = meta["name"].get<std::string>();
  return absl::OkStatus();
}

}  // namespace

bool IsPackage(const StoredFile& file) { return !file.metadata.empty(); }

Status ReadPackage(StoredFile file, ModelFiles& files) {
  NS_RETURN_IF_ERROR(ReadMetadata(file.path, file.metadata, files));
  std::vector<StoredTensor> transformer, vae, text;
  for (StoredTensor& t : file.tensors) {
    if (t.info.name == kTokenizerTensor || t.info.name == kPlanTensor) {
      if (t.info.dtype != DType::kU8)
        return FileError(
            fmt::format("{}: tensor {} is of type {}", file.path, t.info.name, Name(t.info.dtype)),
            "expected u8");
      (t.info.name == kTokenizerTensor ? files.tokenizer : files.plan) = BytesOf(t);
      continue;
    }
    for (const auto& [prefix, part] : {std::pair(kTransformerPrefix, &transformer),
                                       std::pair(kVaePrefix, &vae), std::pair(kTextPrefix, &text)}) {
      if (!t.info.name.starts_with(prefix)) continue;
      t.info.name.erase(0, prefix.size());
      part->push_back(std::move(t));
      break;
    }
  }
  for (const auto& [tensors, slot] : {std::pair(&transformer, &files.transformer),
                                      std::pair(&vae, &files.vae), std::pair(&text, &files.text)}) {
    if (tensors->empty()) continue;
    NS_ASSIGN_OR_RETURN(*slot, StoredTensors::Create(file.path, std::move(*tensors)));
  }
  return absl::OkStatus();
}

}  // namespace nextscale
