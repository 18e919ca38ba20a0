#include "checkpoint/pickle.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "checkpoint/pickle_bytes.h"
#include "checkpoint/pickle_names.h"

namespace nextscale {
namespace {

using Kind = PickleValue::Kind;

// A value takes up to some hundred times its byte in the pickle. Those of the largest published models have
// under 1 MiB and some ten thousand values.
constexpr size_t kMostBytes = size_t{32} << 20, kMostValues = size_t{1} << 20;
// What is copied between values is short, or a small pickle that repeats one long value would fill the
// memory.
constexpr size_t kMostCopied = 128;

}  // namespace

const PickleValue* PickleValue::Get(std::string_view key) const {
  for (size_t i = 0; kind == Kind::kDict && i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::kString && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

// Opcodes are named as in Python's pickletools.
class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const std::string& where, Pickle& out)
      : bytes_(bytes, where), out_(out) {}

  Status Run() {
    while (true) {
      uint8_t op = 0;
      NS_RETURN_IF_ERROR(bytes_.Read(op));
      if (op == '.') break;  // STOP
      if (out_.values_.size() >= kMostValues)
        return Broken(fmt::format("it has over {} values", kMostValues));
      NS_RETURN_IF_ERROR(Step(op));
    }
    if (stack_.size() != 1 || stack_[0]->kind == Kind::kMark) return Broken("it does not end with one value");
    out_.root_ = stack_[0];
    return absl::OkStatus();
  }

 private:
  Status Broken(const std::string& why) const { return bytes_.Broken(why); }
  PickleValue* New(Kind kind) {
    out_.values_.push_back({.kind = kind});
    return &out_.values_.back();
  }
  Status Push(PickleValue* value) {
    stack_.push_back(value);
    return absl::OkStatus();
  }
  Status PushInt(int64_t value, Kind kind = Kind::kInt) {
    PickleValue* v = New(kind);
    v->integer = value;
    return Push(v);
  }
  Status Pop(PickleValue*& value) {
    if (stack_.empty() || stack_.back()->kind == Kind::kMark) return Broken("a value is missing");
    value = stack_.back();
    stack_.pop_back();
    return absl::OkStatus();
  }
  // What was pushed since the last mark.
  Status PopToMark(std::vector<const PickleValue*>& items) {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1]->kind != Kind::kMark) --mark;
    if (mark == 0) return Broken("a mark is missing");
    items.assign(stack_.begin() + mark, stack_.end());
    stack_.resize(mark - 1);
    return absl::OkStatus();
  }
  Status Top(Kind kind, PickleValue*& value) {
    if (stack_.empty() || stack_.back()->kind != kind) return Broken("a container is missing");
    value = stack_.back();
    return absl::OkStatus();
  }

  Status Step(uint8_t op) {
    switch (op) {
      case 0x80: {  // PROTO
        uint8_t version = 0;
        NS_RETURN_IF_ERROR(bytes_.Read(version));
        return version <= 5 ? absl::OkStatus() : Broken(fmt::format("protocol {}", version));
      }
      case 0x95: {  // FRAME
        uint64_t length = 0;
        return bytes_.Read(length);
      }
      case 'N':
        return Push(New(Kind::kNone));
      case 0x88:
        return PushInt(1, Kind::kBool);  // NEWTRUE
      case 0x89:
        return PushInt(0, Kind::kBool);  // NEWFALSE
      case '(':
        return Push(New(Kind::kMark));
      case 'J':
        return PushRead<int32_t>();  // BININT
      case 'K':
        return PushRead<uint8_t>();  // BININT1
      case 'M':
        return PushRead<uint16_t>();  // BININT2
      case 0x8a:
        return PushLong();  // LONG1
      case 'G':
        return PushFloat();  // BINFLOAT
      case 'X':
        return PushText<uint32_t>();  // BINUNICODE
      case 0x8c:
        return PushText<uint8_t>();  // SHORT_BINUNICODE
      case 'T':
        return PushText<uint32_t>();  // BINSTRING
      case 'U':
        return PushText<uint8_t>();  // SHORT_BINSTRING
      case 'B':
        return PushText<uint32_t>();  // BINBYTES
      case 'C':
        return PushText<uint8_t>();  // SHORT_BINBYTES
      case '}':
        return Push(New(Kind::kDict));
      case ']':
        return Push(New(Kind::kList));
      case ')':
        return Push(New(Kind::kTuple));
      case 0x85:
        return PushTuple(1);
      case 0x86:
        return PushTuple(2);
      case 0x87:
        return PushTuple(3);
      case 't': {  // TUPLE
        PickleValue* tuple = New(Kind::kTuple);
        NS_RETURN_IF_ERROR(PopToMark(tuple->items));
        return Push(tuple);
      }
      case 'a': {  // APPEND
        PickleValue *item = nullptr, *list = nullptr;
        NS_RETURN_IF_ERROR(Pop(item));
        NS_RETURN_IF_ERROR(Top(Kind::kList, list));
        list->items.push_back(item);
        return absl::OkStatus();
      }
      case 'e':
        return Extend(Kind::kList);  // APPENDS
      case 's': {                    // SETITEM
        PickleValue *value = nullptr, *key = nullptr, *dict = nullptr;
        NS_RETURN_IF_ERROR(Pop(value));
        NS_RETURN_IF_ERROR(Pop(key));
        NS_RETURN_IF_ERROR(Top(Kind::kDict, dict));
        dict->items.insert(dict->items.end(), {key, value});
        return absl::OkStatus();
      }
      case 'u':
        return Extend(Kind::kDict);  // SETITEMS
      case 'q':
        return Put<uint8_t>();  // BINPUT
      case 'r':
        return Put<uint32_t>();  // LONG_BINPUT
      case 0x94:
        return Memoize(memo_.size());
      case 'h':
        return Recall<uint8_t>();  // BINGET
      case 'j':
        return Recall<uint32_t>();  // LONG_BINGET
      case 'c': {                   // GLOBAL
        std::string module, name;
        NS_RETURN_IF_ERROR(bytes_.ReadLine(module));
        NS_RETURN_IF_ERROR(bytes_.ReadLine(name));
        return PushGlobal(module + "." + name);
      }
      case 0x93: {  // STACK_GLOBAL
        PickleValue *name = nullptr, *module = nullptr;
        NS_RETURN_IF_ERROR(Pop(name));
        NS_RETURN_IF_ERROR(Pop(module));
        if (name->kind != Kind::kString || module->kind != Kind::kString)
          return Broken("a name is not a text");
        return PushGlobal(module->text + "." + name->text);
      }
      case 'Q':
        return PersistentId();  // BINPERSID
      case 'R':
        return Reduce();
      case 'b':
        return Build();
      case '0': {  // POP
        PickleValue* value = nullptr;
        return Pop(value);
      }
      default:
        return Broken(fmt::format("opcode 0x{:02x} is not one of data", op));
    }
  }

  template <typename T>
  Status PushRead() {
    T value = 0;
    NS_RETURN_IF_ERROR(bytes_.Read(value));
    return PushInt(value);
  }
  template <typename Length>
  Status PushText() {
    PickleValue* v = New(Kind::kString);
    NS_RETURN_IF_ERROR(bytes_.ReadText<Length>(v->text));
    return Push(v);
  }
  Status PushLong() {
    uint8_t length = 0;
    NS_RETURN_IF_ERROR(bytes_.Read(length));
    if (length > 8) {  // no size of a tensor
      NS_RETURN_IF_ERROR(bytes_.Skip(length));
      return Push(New(Kind::kNone));
    }
    uint64_t value = 0;
    for (int i = 0; i < length; ++i) {
      uint8_t byte = 0;
      NS_RETURN_IF_ERROR(bytes_.Read(byte));
      value |= static_cast<uint64_t>(byte) << (8 * i);
      if (i == length - 1 && (byte & 0x80) && length < 8) value |= ~uint64_t{0} << (8 * length);
    }
    return PushInt(static_cast<int64_t>(value));
  }
  Status PushFloat() {  // big-endian
    uint64_t bits = 0;
    NS_RETURN_IF_ERROR(bytes_.Read(bits));
    bits = __builtin_bswap64(bits);
    PickleValue* v = New(Kind::kFloat);
    std::memcpy(&v->real, &bits, sizeof bits);
    return Push(v);
  }
  Status PushTuple(size_t n) {
    PickleValue* tuple = New(Kind::kTuple);
    tuple->items.resize(n);
    for (size_t i = n; i-- > 0;) {
      PickleValue* item = nullptr;
      NS_RETURN_IF_ERROR(Pop(item));
      tuple->items[i] = item;
    }
    return Push(tuple);
  }
  Status Extend(Kind kind) {
    std::vector<const PickleValue*> items;
    NS_RETURN_IF_ERROR(PopToMark(items));
    PickleValue* container = nullptr;
    NS_RETURN_IF_ERROR(Top(kind, container));
    if (kind == Kind::kDict && items.size() % 2) return Broken("a key has no value");
    container->items.insert(container->items.end(), items.begin(), items.end());
    return absl::OkStatus();
  }
  Status Memoize(uint64_t index) {
    if (stack_.empty() || stack_.back()->kind == Kind::kMark) return Broken("nothing to remember");
    memo_[index] = stack_.back();
    return absl::OkStatus();
  }
  template <typename T>
  Status Put() {
    T index = 0;
    NS_RETURN_IF_ERROR(bytes_.Read(index));
    return Memoize(index);
  }
  template <typename T>
  Status Recall() {
    T index = 0;
    NS_RETURN_IF_ERROR(bytes_.Read(index));
    const auto it = memo_.find(index);
    if (it == memo_.end()) return Broken(fmt::format("value {} was never remembered", index));
    return Push(it->second);
  }
  Status PushGlobal(const std::string& name) {
    if (!IsAllowedName(name)) {
      return FileError(
          fmt::format("{} would call {}", bytes_.where(), name),
          "checkpoints are read as data: only tensors and plain containers are taken, nothing is executed",
          "save the state dict alone, or as safetensors");
    }
    PickleValue* v = New(Kind::kGlobal);
    v->text = name;
    return Push(v);
  }

  // ('storage', class, key, location, elements)
  Status PersistentId() {
    PickleValue* id = nullptr;
    NS_RETURN_IF_ERROR(Pop(id));
    if (id->kind != Kind::kTuple || id->items.size() < 5 || id->items[0]->text != "storage" ||
        id->items[1]->kind != Kind::kGlobal || id->items[2]->kind != Kind::kString ||
        id->items[2]->text.size() > kMostCopied || id->items[4]->kind != Kind::kInt) {
      return Broken("a storage is not described as torch does");
    }
    const StorageType* type = FindStorageType(id->items[1]->text);
    if (!type) return Broken(fmt::format("{} is not a storage", id->items[1]->text));
    PickleValue* v = New(Kind::kStorage);
    v->dtype = type->dtype;
    v->text = id->items[2]->text;
    v->elements = id->items[4]->integer;
    return Push(v);
  }

  Status Reduce() {
    PickleValue *args = nullptr, *callable = nullptr;
    NS_RETURN_IF_ERROR(Pop(args));
    NS_RETURN_IF_ERROR(Pop(callable));
    if (callable->kind != Kind::kGlobal || args->kind != Kind::kTuple)
      return Broken("a call has no name or no arguments");
    if (callable->text == kOrderedDict) return Push(New(Kind::kDict));
    if (callable->text == kTorchSize && args->items.size() == 1 && args->items[0]->kind == Kind::kTuple)
      return PushCopy(*args->items[0]);
    if (callable->text == kTorchDevice && !args->items.empty() && args->items[0]->kind == Kind::kString)
      return PushCopy(*args->items[0]);
    if (callable->text == kRebuildTensor) return RebuildTensor(args->items);
    if (callable->text == kRebuildFromType && args->items.size() >= 3 &&
        args->items[0]->kind == Kind::kGlobal && args->items[0]->text == kRebuildTensor &&
        args->items[2]->kind == Kind::kTuple) {
      return RebuildTensor(args->items[2]->items);  // (function, type, arguments, attributes)
    }
    return Broken(fmt::format("{} is not called as torch does", callable->text));
  }

  Status PushCopy(const PickleValue& value) {
    if (value.items.size() > kMostCopied || value.text.size() > kMostCopied)
      return Broken("an argument is too long");
    PickleValue* v = New(value.kind);
    v->text = value.text;
    v->items = value.items;
    return Push(v);
  }

  // (storage, offset, shape, strides, …)
  Status RebuildTensor(const std::vector<const PickleValue*>& args) {
    if (args.size() < 4 || args[0]->kind != Kind::kStorage || args[1]->kind != Kind::kInt ||
        args[2]->kind != Kind::kTuple || args[3]->kind != Kind::kTuple ||
        args[2]->items.size() != args[3]->items.size() || args[2]->items.size() > kMostCopied) {
      return Broken("a tensor is not described as torch does");
    }
    PickleValue* v = New(Kind::kTensor);
    v->storage = args[0];
    v->dtype = args[0]->dtype;
    v->offset = args[1]->integer;
    for (size_t i = 0; i < args[2]->items.size(); ++i) {
      if (args[2]->items[i]->kind != Kind::kInt || args[3]->items[i]->kind != Kind::kInt)
        return Broken("a tensor's shape is not of numbers");
      v->shape.push_back(args[2]->items[i]->integer);
      v->strides.push_back(args[3]->items[i]->integer);
    }
    return Push(v);
  }

  // Attributes of a dict (OrderedDict's _metadata) or tensor hold nothing that is needed.
  Status Build() {
    PickleValue* state = nullptr;
    NS_RETURN_IF_ERROR(Pop(state));
    if (stack_.empty() || (stack_.back()->kind != Kind::kDict && stack_.back()->kind != Kind::kTensor))
      return Broken("attributes of something unknown");
    return absl::OkStatus();
  }

  PickleBytes bytes_;
  Pickle& out_;
  std::vector<PickleValue*> stack_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

StatusOr<Pickle> Pickle::Parse(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() > kMostBytes)
    return FileError(fmt::format("{} has a pickle of {} bytes", where, bytes.size()),
                     fmt::format("at most {} are read", kMostBytes));
  Pickle pickle;
  NS_RETURN_IF_ERROR(Unpickler(bytes, where, pickle).Run());
  return pickle;
}

}  // namespace nextscale
