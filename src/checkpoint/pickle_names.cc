#include "checkpoint/pickle_names.h"

#include <map>
#include <set>

namespace nextscale {

const StorageType* FindStorageType(std::string_view name) {
  static const std::map<std::string_view, StorageType> kStorages = {{"torch.FloatStorage", {DType::kF32}},
                                                                    {"torch.DoubleStorage", {DType::kF64}},
                                                                    {"torch.HalfStorage", {DType::kF16}},
                                                                    {"torch.BFloat16Storage", {DType::kBF16}},
                                                                    {"torch.LongStorage", {DType::kI64}},
                                                                    {"torch.IntStorage", {DType::kI32}},
                                                                    {"torch.ShortStorage", {DType::kI16}},
                                                                    {"torch.CharStorage", {DType::kI8}},
                                                                    {"torch.ByteStorage", {DType::kU8}},
                                                                    {"torch.BoolStorage", {DType::kBool}},
                                                                    {"torch.ComplexFloatStorage", {}},
                                                                    {"torch.ComplexDoubleStorage", {}},
                                                                    {"torch.QInt8Storage", {}},
                                                                    {"torch.QInt32Storage", {}},
                                                                    {"torch.QUInt8Storage", {}},
                                                                    {"torch.QUInt4x2Storage", {}},
                                                                    {"torch.QUInt2x4Storage", {}}};
  const auto it = kStorages.find(name);
  return it == kStorages.end() ? nullptr : &it->second;
}

bool IsAllowedName(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      kRebuildTensor, kRebuildFromType,  kOrderedDict,      kTorchSize,      kTorchDevice,
      "torch.Tensor", "torch.float32",   "torch.float64",   "torch.float16", "torch.bfloat16",
      "torch.int64",  "torch.int32",     "torch.int16",     "torch.int8",    "torch.uint8",
      "torch.bool",   "torch.complex64", "torch.complex128"};
  return kNames.contains(name) || FindStorageType(name) != nullptr;
}

}  // namespace nextscale
