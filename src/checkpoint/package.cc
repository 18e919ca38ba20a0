// Writes the safetensors format (github.com/huggingface/safetensors): 8 bytes of header length, a JSON
// header, then the tensors without gaps, wider types first so that each is aligned.
#include "checkpoint/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "checkpoint/package_format.h"

namespace nextscale {
namespace {

using nlohmann::json;

constexpr size_t kAlignment = 64;         // of the first tensor
constexpr int64_t kPieceBytes = 4 << 20;  // converted and written at a time

std::string_view SafetensorsName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kBF16:
      return "BF16";
    case DType::kF16:
      return "F16";
    case DType::kF64:
      return "F64";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI16:
      return "I16";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
  }
  NS_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

// One tensor to come: from a source, or bytes at hand.
struct Item {
  std::string name;
  DType dtype = DType::kU8;
  Shape shape;
  const TensorSource* source = nullptr;
  const TensorInfo* info = nullptr;
  std::string_view bytes;
  int64_t size() const { return shape.elements() * static_cast<int64_t>(SizeOf(dtype)); }
};

DType StoredAs(const TensorInfo& info, DType matrices) {
  if (!IsFloat(info.dtype)) return info.dtype;
  // A leading dimension of 1 marks the vectors that checkpoints keep with more dimensions (ada_gss,
  // pos_start, …).
  const bool matrix = info.shape.rank() >= 2 && info.shape[0] > 1;
  return matrix ? matrices : DType::kF32;
}

std::vector<Item> ItemsOf(const ModelFiles& files, const PackageOptions& options) {
  std::vector<Item> items;
  const auto add = [&](std::string_view prefix, const TensorSource* source, DType matrices) {
    if (!source) return;
    for (const TensorInfo* info : source->List()) {
      items.push_back({.name = std::string(prefix) + info->name,
                       .dtype = StoredAs(*info, matrices),
                       .shape = info->shape,
                       .source = source,
                       .info = info});
    }
  };
  add(kTransformerPrefix, files.transformer.get(), options.transformer);
  add(kVaePrefix, files.vae.get(), options.vae);
  add(kTextPrefix, files.text.get(), options.text);
  for (const auto& [name, text] :
       {std::pair(kTokenizerTensor, &files.tokenizer), std::pair(kPlanTensor, &files.plan)}) {
    if (text->empty()) continue;
    items.push_back(
        {.name = std::string(name), .shape = {static_cast<int64_t>(text->size())}, .bytes = *text});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return SizeOf(a.dtype) > SizeOf(b.dtype); });
  return items;
}

json Metadata(const ModelFiles& files, const PackageOptions& options) {
  json meta = {{"version", kPackageVersion},
               {"name", files.name},
               {"options", json::object()},
               {"presets", json::object()},
               {"types", json::object()}};
  for (const auto& [name, option] : files.options) {
    const std::string& value = option.value;
    if (name == kTrainedPixels) {
      meta[name] = value;
    } else if (name.starts_with(kPresetPrefix)) {
      meta["presets"][name.substr(kPresetPrefix.size())] = value;
    } else {
      meta["options"][name] = value;
    }
  }
  if (files.transformer) meta["types"]["transformer"] = Name(options.transformer);
  if (files.vae) meta["types"]["vae"] = Name(options.vae);
  if (files.text) meta["types"]["text"] = Name(options.text);
  return meta;
}

// The length and the JSON, padded with spaces as the format allows.
StatusOr<std::string> HeaderOf(const std::vector<Item>& items, const json& metadata,
                               const std::string& path) {
  std::string text;
  try {
    json header = {{"__metadata__", {{"format", "pt"}, {"nextscale", metadata.dump()}}}};
    int64_t at = 0;
    for (const Item& item : items) {
      header[item.name] = {{"dtype", SafetensorsName(item.dtype)},
                           {"shape", item.shape.dims()},
                           {"data_offsets", {at, at + item.size()}}};
      at += item.size();
    }
    text = header.dump();
  } catch (const json::exception& error) {  // a name or an option that is not UTF-8
    return WorkError(fmt::format("cannot write the header of {}", path), error.what());
  }
  const size_t length_bytes = sizeof(uint64_t);
  text.append((kAlignment - (text.size() + length_bytes) % kAlignment) % kAlignment, ' ');
  const uint64_t length = text.size();
  std::string out(length_bytes, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

Status CheckNotAnInput(const ModelFiles& files, const std::string& path) {
  for (const std::string& input : files.inputs) {
    std::error_code error;
    if (std::filesystem::equivalent(input, path, error) && !error) {
      return CallError(fmt::format("{} is one of the files to read", path), "inputs are never overwritten",
                       "write the package under another name");
    }
  }
  return absl::OkStatus();
}

class Writer {
 public:
  Writer(AtomicFile& file, int64_t total, const PackageOptions& options)
      : file_(file), total_(total), progress_(options.progress) {}

  Status WriteBytes(std::string_view bytes) {
    return Piece(std::as_bytes(std::span<const char>(bytes.data(), bytes.size())));
  }
  Status WriteTensor(const Item& item) {
    const int64_t rows = item.shape.rank() == 0 ? 1 : item.shape[0];
    const int64_t row_bytes = rows == 0 ? 0 : item.size() / rows;
    const int64_t step = std::max<int64_t>(1, row_bytes == 0 ? rows : kPieceBytes / row_bytes);
    buffer_.resize(std::max<size_t>(buffer_.size(), static_cast<size_t>(std::min(step, rows) * row_bytes)));
    for (int64_t at = 0; at < rows; at += step) {
      const int64_t end = std::min(rows, at + step);
      NS_RETURN_IF_ERROR(item.source->ReadRows(*item.info, at, end, item.dtype, buffer_.data()));
      NS_RETURN_IF_ERROR(Piece(std::span(buffer_).first(static_cast<size_t>((end - at) * row_bytes))));
    }
    return absl::OkStatus();
  }

 private:
  Status Piece(std::span<const std::byte> bytes) {
    NS_RETURN_IF_ERROR(file_.Write(bytes));
    done_ += static_cast<int64_t>(bytes.size());
    if (progress_) progress_(done_, total_);
    return absl::OkStatus();
  }
  AtomicFile& file_;
  int64_t total_, done_ = 0;
  const std::function<void(int64_t, int64_t)>& progress_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Status WritePackage(const ModelFiles& files, const PackageOptions& options, const std::string& path) {
  for (DType dtype : {options.transformer, options.vae, options.text}) {
    if (dtype != DType::kF32 && dtype != DType::kBF16)
      return CallError(fmt::format("packages are not written as {}", Name(dtype)), "", "choose f32 or bf16");
  }
  if (!files.transformer && !files.vae && !files.text)
    return CallError("there is nothing to write", "no part of a model was found");
  NS_RETURN_IF_ERROR(CheckNotAnInput(files, path));
  const std::vector<Item> items = ItemsOf(files, options);
  NS_ASSIGN_OR_RETURN(const std::string header, HeaderOf(items, Metadata(files, options), path));
  int64_t total = static_cast<int64_t>(header.size());
  for (const Item& item : items) total += item.size();

  NS_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file, AtomicFile::Create(path, total));
  Writer writer(*file, total, options);
  NS_RETURN_IF_ERROR(writer.WriteBytes(header));
  for (const Item& item : items)
    NS_RETURN_IF_ERROR(item.source ? writer.WriteTensor(item) : writer.WriteBytes(item.bytes));
  return file->Commit();
}

}  // namespace nextscale
