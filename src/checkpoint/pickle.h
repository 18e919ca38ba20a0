// Pickle read as data: a stack machine that knows containers, numbers, strings and the few names that
// torch.save writes. Nothing is executed; any other name is an error that says what would have been called.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"

namespace nextscale {

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kTuple,
    kList,
    kDict,
    kGlobal,
    kStorage,
    kTensor,
    kMark
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;                    // kBool, kInt
  double real = 0;                        // kFloat
  std::string text;                       // kString; kGlobal: "module.name"; kStorage: its key
  std::vector<const PickleValue*> items;  // kTuple, kList; kDict: key, value, key, value, …
  // kStorage and kTensor
  std::optional<DType> dtype;            // none: a type that is not read
  int64_t elements = 0;                  // of the storage
  const PickleValue* storage = nullptr;  // kTensor
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;

  // A dict's value, or null.
  const PickleValue* Get(std::string_view key) const;
};

// Owns the values, which refer to each other (a pickle may hold cycles).
class Pickle {
 public:
  // `where` names the file in errors. Errors: FileError.
  static StatusOr<Pickle> Parse(std::span<const std::byte> bytes, const std::string& where);
  const PickleValue& root() const { return *root_; }

 private:
  friend class Unpickler;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

}  // namespace nextscale
