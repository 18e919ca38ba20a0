#include "cli/bits_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "checkpoint/safetensors.h"

namespace nextscale {
namespace {

std::string BitsName(size_t scale) { return fmt::format("scale{:02d}.bits", scale); }

}  // namespace

Status WriteBitsFile(const std::string& path, const std::vector<Tensor>& bits_dhw) {
  nlohmann::ordered_json header;
  std::string data;
  for (size_t k = 0; k < bits_dhw.size(); ++k) {
    const Tensor& t = bits_dhw[k];
    header[BitsName(k)] = {{"dtype", "U8"},
                           {"shape", {1, t.dim(0), t.dim(1), t.dim(2)}},
                           {"data_offsets", {data.size(), data.size() + t.bytes()}}};
    data.append(reinterpret_cast<const char*>(t.view().raw()), t.bytes());
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  return WriteFileAtomically(
      path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
}

StatusOr<std::vector<Tensor>> ReadBitsFile(const std::string& path) {
  NS_ASSIGN_OR_RETURN(StoredFile file, ReadSafetensors(path));
  const size_t scales =
      static_cast<size_t>(std::count_if(file.tensors.begin(), file.tensors.end(), [](const StoredTensor& t) {
        return t.info.name.ends_with(".bits");
      }));
  NS_ASSIGN_OR_RETURN(const auto source, StoredTensors::Create(path, std::move(file.tensors)));
  if (scales == 0)
    return FileError(fmt::format("{} holds no bits", path), "expected tensors scale00.bits, scale01.bits, …");
  std::vector<Tensor> bits;
  for (size_t k = 0; k < scales; ++k) {
    NS_ASSIGN_OR_RETURN(const TensorInfo* info, FindTensor(*source, BitsName(k), {1, -1, -1, -1}));
    if (info->dtype != DType::kU8 || info->shape[2] * info->shape[3] == 0 || (k == 0 && info->shape[1] == 0))
      return FileError(
          fmt::format("{}: tensor {} is {} {}", path, info->name, Name(info->dtype), ToString(info->shape)),
          "expected u8 [1, d, h, w]");
    Tensor t(DType::kU8, {info->shape[1], info->shape[2], info->shape[3]}, {});
    if (!t.empty()) NS_RETURN_IF_ERROR(source->ReadRows(*info, 0, 1, DType::kU8, t.data<uint8_t>()));
    if (std::any_of(t.data<uint8_t>(), t.data<uint8_t>() + t.elements(), [](uint8_t b) { return b > 1; }))
      return FileError(fmt::format("{}: tensor {} holds values above 1", path, info->name),
                       "bits are 0 and 1");
    bits.push_back(std::move(t));
  }
  return bits;
}

}  // namespace nextscale
