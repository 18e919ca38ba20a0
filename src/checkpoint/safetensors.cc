#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>

#include "checkpoint/safetensors_header.h"

namespace nextscale {
namespace {

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // as the format's reference reader allows

std::optional<DType> ParseDType(std::string_view name) {
  static const std::map<std::string_view, DType> kTypes = {
      {"F32", DType::kF32}, {"BF16", DType::kBF16}, {"F16", DType::kF16}, {"F64", DType::kF64},
      {"I64", DType::kI64}, {"I32", DType::kI32},   {"I16", DType::kI16}, {"I8", DType::kI8},
      {"U8", DType::kU8},   {"BOOL", DType::kBool}};
  const auto it = kTypes.find(name);
  return it == kTypes.end() ? std::nullopt : std::optional(it->second);
}

StatusOr<StoredTensor> MakeTensor(const SafetensorsEntry& entry, std::span<const std::byte> data,
                                  const std::shared_ptr<const MappedFile>& file) {
  const std::string what = fmt::format("{}: tensor {}", file->path(), entry.name);
  const std::optional<DType> dtype = ParseDType(entry.dtype);
  if (!dtype) {
    return FileError(fmt::format("{} is of type {}", what, entry.dtype), "this type is not read",
                     "convert it to F32 or BF16");
  }
  NS_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(entry.shape, *dtype, what));
  if (entry.end - entry.begin != static_cast<uint64_t>(bytes)) {
    return FileError(fmt::format("{} has {} bytes", what, entry.end - entry.begin),
                     fmt::format("{} were expected of its type and shape", bytes),
                     "the file may be damaged: copy or download it again");
  }
  StoredTensor t;
  t.info = {entry.name, *dtype, Shape(std::span<const int64_t>(entry.shape))};
  t.file = file;
  t.bytes = data.subspan(entry.begin, entry.end - entry.begin);
  return t;
}

}  // namespace

StatusOr<StoredFile> ReadSafetensors(const std::string& path) {
  NS_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::span<const std::byte> all = file->bytes();
  uint64_t length = 0;
  if (all.size() >= sizeof length) std::memcpy(&length, all.data(), sizeof length);
  if (all.size() < sizeof length || length > kMostHeaderBytes || length > all.size() - sizeof length) {
    return FileError(fmt::format("{} is not a whole safetensors file", path),
                     fmt::format("its header should have {} bytes, the file has {}", length, all.size()),
                     "copy or download it again");
  }
  const std::span<const std::byte> data = all.subspan(sizeof length + length);
  const std::string_view text(reinterpret_cast<const char*>(all.data()) + sizeof length, length);
  NS_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(text, data.size(), path));

  StoredFile out{.path = path, .metadata = std::move(header.metadata)};
  for (const SafetensorsEntry& entry : header.entries) {
    NS_ASSIGN_OR_RETURN(StoredTensor tensor, MakeTensor(entry, data, file));
    out.tensors.push_back(std::move(tensor));
  }
  file->Release(all.first(sizeof length + length));
  return out;
}

}  // namespace nextscale
