// The names that may appear in a checkpoint's pickle. Those that are called make data of a known form; all
// others only stand for themselves.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace nextscale {

inline constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
inline constexpr std::string_view kRebuildFromType = "torch._tensor._rebuild_from_type_v2";
inline constexpr std::string_view kOrderedDict = "collections.OrderedDict";
inline constexpr std::string_view kTorchSize = "torch.Size", kTorchDevice = "torch.device";

bool IsAllowedName(std::string_view name);

struct StorageType {
  std::optional<DType> dtype;  // none: of a type that is known but not read (complex, quantized)
};
// Null if `name` is not a class of storages.
const StorageType* FindStorageType(std::string_view name);

}  // namespace nextscale
