#include "checkpoint/torch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "checkpoint/pickle.h"
#include "checkpoint/zip_archive.h"

namespace nextscale {
namespace {

using Kind = PickleValue::Kind;
using Entries = std::map<std::string, std::span<const std::byte>>;

bool HoldsTensors(const PickleValue* value) {
  if (!value || value->kind != Kind::kDict) return false;
  for (size_t i = 1; i < value->items.size(); i += 2) {
    if (value->items[i]->kind == Kind::kTensor) return true;
  }
  return false;
}

const PickleValue* FindStateDict(const PickleValue& root) {
  const PickleValue* trainer = root.Get("trainer");
  for (const PickleValue* candidate :
       {trainer ? trainer->Get("gpt_fsdp") : nullptr, root.Get("vae"), root.Get("ema"), &root}) {
    if (HoldsTensors(candidate)) return candidate;
  }
  return nullptr;
}

bool IsDense(const PickleValue& t) {
  int64_t expected = 1;
  for (size_t i = t.shape.size(); i-- > 0;) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, t.shape[i], &expected)) return false;
  }
  return true;
}

// Elements from the first to the last that the strides reach, or -1 if impossible.
int64_t Extent(const PickleValue& t) {
  int64_t extent = 1;
  for (size_t i = 0; i < t.shape.size(); ++i) {
    if (t.shape[i] == 0) return 0;
    int64_t reach = 0;
    if (t.shape[i] < 0 || t.strides[i] < 0 || __builtin_mul_overflow(t.shape[i] - 1, t.strides[i], &reach) ||
        __builtin_add_overflow(extent, reach, &extent))
      return -1;
  }
  return extent;
}

StatusOr<StoredTensor> MakeTensor(const std::string& name, const PickleValue& t, const Entries& entries,
                                  const std::string& folder, const std::shared_ptr<const MappedFile>& file) {
  const std::string what = fmt::format("{}: tensor {}", file->path(), name);
  const auto storage = entries.find(folder + "data/" + t.storage->text);
  if (storage == entries.end())
    return FileError(fmt::format("{} has no storage {}", what, t.storage->text), "",
                     "the file may be damaged: copy or download it again");
  if (t.shape.size() > 6) return FileError(what + " has more than 6 dimensions");
  NS_ASSIGN_OR_RETURN(const int64_t logical, CheckedBytes(t.shape, *t.dtype, what));
  const int64_t element = static_cast<int64_t>(SizeOf(*t.dtype)), extent = Extent(t),
                held = static_cast<int64_t>(storage->second.size()) / element;
  // A tensor may repeat elements (stride 0), but not so as to be larger than its file.
  if (extent < 0 || t.offset < 0 || t.offset > held || extent > held - t.offset ||
      logical > static_cast<int64_t>(file->bytes().size())) {
    return FileError(fmt::format("{} reaches outside its storage", what),
                     fmt::format("storage {} has {} elements", t.storage->text, held),
                     "the file may be cut short: copy or download it again");
  }
  StoredTensor out;
  out.info = {name, *t.dtype, Shape(std::span<const int64_t>(t.shape))};
  out.file = file;
  out.bytes = storage->second.subspan(t.offset * element, extent * element);
  if (!IsDense(t)) out.strides = t.strides;
  return out;
}

}  // namespace

StatusOr<StoredFile> ReadTorchFile(const std::string& path) {
  NS_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  if (!LooksLikeZip(file->bytes())) {
    return FileError(fmt::format("{} is not a torch checkpoint", path),
                     "it is not a zip archive, which torch.save writes since version 1.6",
                     "check the file, or save it again with a newer torch");
  }
  NS_ASSIGN_OR_RETURN(const Entries entries, ReadZipDirectory(*file));
  const auto pickled = std::find_if(entries.begin(), entries.end(), [](const auto& e) {
    return e.first == "data.pkl" || e.first.ends_with("/data.pkl");
  });
  if (pickled == entries.end())
    return FileError(fmt::format("{} has no data.pkl", path),
                     "it is a zip archive, but not one that torch.save writes");
  const std::string folder =
      pickled->first.substr(0, pickled->first.size() - std::string_view("data.pkl").size());
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end()) {
    const std::string_view text(reinterpret_cast<const char*>(order->second.data()), order->second.size());
    if (text != "little")
      return FileError(fmt::format("{} is in {}-endian byte order", path, text), "little-endian is expected");
  }
  NS_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(pickled->second, path));
  const PickleValue* state = FindStateDict(pickle.root());
  if (!state)
    return FileError(fmt::format("{} holds no state dict", path),
                     "tensors were looked for at the top, at trainer/gpt_fsdp, vae and ema");

  StoredFile out{.path = path};
  for (size_t i = 0; i + 1 < state->items.size(); i += 2) {
    const PickleValue &key = *state->items[i], &value = *state->items[i + 1];
    if (key.kind != Kind::kString || value.kind != Kind::kTensor) continue;  // counters, settings
    if (!value.dtype) {
      out.unreadable.push_back(key.text);
      continue;
    }
    NS_ASSIGN_OR_RETURN(StoredTensor tensor, MakeTensor(key.text, value, entries, folder, file));
    out.tensors.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace nextscale
