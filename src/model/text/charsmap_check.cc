#include "model/text/charsmap_check.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace nextscale {
namespace {

constexpr uint64_t kNormalizer = 3, kDenormalizer = 5;  // of ModelProto, a NormalizerSpec each
constexpr uint64_t kCharsMap = 2;                       // of NormalizerSpec, bytes

// The fields of a protocol buffer message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // False at the end, or where the message is broken.
  bool Next() {
    if (rest_.empty() || broken_) return false;
    const uint64_t tag = Varint();
    number = tag >> 3;
    bytes = {};
    switch (tag & 7) {
      case 0:
        Varint();
        break;
      case 1:
        Take(8);
        break;
      case 2:
        bytes = Take(Varint());
        break;
      case 5:
        Take(4);
        break;
      default:  // groups, which no model has
        broken_ = true;
    }
    return !broken_;
  }
  bool broken() const { return broken_; }

  uint64_t number = 0;
  std::string_view bytes;  // of a field with a length

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = Take(1);
      if (broken_) return 0;
      value |= (static_cast<uint64_t>(byte[0]) & 0x7f) << shift;
      if (!(byte[0] & 0x80)) return value;
    }
    broken_ = true;
    return 0;
  }
  std::string_view Take(uint64_t n) {
    broken_ = broken_ || n > rest_.size();
    if (broken_) return {};
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view rest_;
  bool broken_ = false;
};

// darts-clone's units. A node is the place its children lie around: child c at place ^ c, labelled c.
class Trie {
 public:
  explicit Trie(std::string_view bytes) : units_(bytes.size() / sizeof(uint32_t)) {
    if (!units_.empty()) std::memcpy(units_.data(), bytes.data(), units_.size() * sizeof(uint32_t));
  }

  // Whether every place that any text can lead to lies in the array, and every value is below `values`.
  bool StaysInside(size_t values) const {
    if (units_.empty()) return false;
    std::vector<bool> seen(units_.size());
    std::vector<size_t> open{Offset(units_[0])};
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      if ((node | 0xff) >= units_.size()) return false;
      if (seen[node]) continue;
      seen[node] = true;
      for (size_t c = 0; c < 256; ++c) {
        const uint32_t unit = units_[node ^ c];
        if ((unit & 0x800000ff) != c) continue;
        const size_t child = node ^ c ^ Offset(unit);
        const bool has_value = unit & 0x100;
        if (has_value && (child >= units_.size() || (units_[child] & 0x7fffffff) >= values)) return false;
        open.push_back(child);
      }
    }
    return true;
  }

 private:
  static size_t Offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & 0x200) >> 6); }
  std::vector<uint32_t> units_;
};

// A table: the trie's size in bytes (u32), the trie, and the texts that its values point into, each ended by
// a zero byte. The library itself refuses a size that doesn't fit.
bool TableHolds(std::string_view table) {
  uint32_t size = 0;
  if (table.size() <= sizeof size) return true;
  std::memcpy(&size, table.data(), sizeof size);
  table.remove_prefix(sizeof size);
  if (size >= table.size()) return true;
  const std::string_view texts = table.substr(size);
  return texts.back() == '\0' && Trie(table.substr(0, size)).StaysInside(texts.size());
}

}  // namespace

std::string CharsMapProblem(std::string_view model) {
  constexpr const char* kBroken = "it is cut short or damaged";
  Fields fields(model);
  while (fields.Next()) {
    if (fields.number != kNormalizer && fields.number != kDenormalizer) continue;
    Fields spec(fields.bytes);
    while (spec.Next()) {
      if (spec.number == kCharsMap && !TableHolds(spec.bytes)) return "its normalisation table is damaged";
    }
    if (spec.broken()) return kBroken;
  }
  return fields.broken() ? kBroken : "";
}

}  // namespace nextscale
