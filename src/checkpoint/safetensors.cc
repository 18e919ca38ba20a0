#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace nextscale {
namespace {

using nlohmann::json;

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // as the format's reference reader allows

std::optional<DType> ParseDType(const std::string& name) {
  static const std::map<std::string, DType> kTypes = {
      {"F32", DType::kF32}, {"BF16", DType::kBF16}, {"F16", DType::kF16}, {"F64", DType::kF64},
      {"I64", DType::kI64}, {"I32", DType::kI32},   {"I16", DType::kI16}, {"I8", DType::kI8},
      {"U8", DType::kU8},   {"BOOL", DType::kBool}};
  const auto it = kTypes.find(name);
  return it == kTypes.end() ? std::nullopt : std::optional(it->second);
}

Status Broken(const std::string& path, const std::string& why) {
  return FileError(fmt::format("{} is not a whole safetensors file", path), why, "copy or download it again");
}

StatusOr<StoredTensor> ParseTensor(const std::string& name, const json& entry,
                                   std::span<const std::byte> data,
                                   const std::shared_ptr<const MappedFile>& file) {
  const std::string what = fmt::format("{}: tensor {}", file->path(), name);
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2) {
    return FileError(what + " has no dtype, shape and data_offsets");
  }
  StoredTensor t;
  t.info.name = name;
  const std::optional<DType> dtype = ParseDType(entry["dtype"].get<std::string>());
  if (!dtype)
    return FileError(fmt::format("{} is of type {}", what, entry["dtype"].get<std::string>()),
                     "this type is not read", "convert it to F32 or BF16");
  t.info.dtype = *dtype;
  std::vector<int64_t> dims;
  for (const json& d : entry["shape"]) {
    if (!d.is_number_unsigned() || dims.size() == 6) return FileError(what + " has an impossible shape");
    dims.push_back(d.get<int64_t>());
  }
  NS_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dims, t.info.dtype, what));
  const json &begin = entry["data_offsets"][0], &end = entry["data_offsets"][1];
  if (!begin.is_number_unsigned() || !end.is_number_unsigned())
    return FileError(what + " has impossible data_offsets");
  const uint64_t from = begin.get<uint64_t>(), to = end.get<uint64_t>();
  if (from > to || to > data.size() || to - from != static_cast<uint64_t>(bytes)) {
    return FileError(fmt::format("{} lies at {} to {}", what, from, to),
                     fmt::format("{} bytes were expected, and the file has {}", bytes, data.size()),
                     "the file may be cut short: copy or download it again");
  }
  t.info.shape = Shape(std::span<const int64_t>(dims));
  t.file = file;
  t.bytes = data.subspan(from, to - from);
  return t;
}

}  // namespace

StatusOr<StoredFile> ReadSafetensors(const std::string& path) {
  NS_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::span<const std::byte> all = file->bytes();
  uint64_t header_bytes = 0;
  if (all.size() < sizeof header_bytes) return Broken(path, fmt::format("it has {} bytes", all.size()));
  std::memcpy(&header_bytes, all.data(), sizeof header_bytes);
  if (header_bytes > kMostHeaderBytes || header_bytes > all.size() - sizeof header_bytes) {
    return Broken(path,
                  fmt::format("its header should have {} bytes, the file has {}", header_bytes, all.size()));
  }
  const char* text = reinterpret_cast<const char*>(all.data()) + sizeof header_bytes;
  const json header = json::parse(text, text + header_bytes, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Broken(path, "its header is not a JSON object");

  StoredFile out{.path = path};
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (entry.is_object() && entry.contains("nextscale") && entry["nextscale"].is_string())
        out.metadata = entry["nextscale"].get<std::string>();
      continue;
    }
    NS_ASSIGN_OR_RETURN(StoredTensor tensor,
                        ParseTensor(name, entry, all.subspan(sizeof header_bytes + header_bytes), file));
    out.tensors.push_back(std::move(tensor));
  }
  file->Release(all.first(sizeof header_bytes + header_bytes));
  return out;
}

}  // namespace nextscale
