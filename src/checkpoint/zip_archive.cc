#include "checkpoint/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace nextscale {
namespace {

// Field offsets and signatures are those of PKWARE's APPNOTE, sections 4.3.7 (local header), 4.3.12 (central
// directory), 4.3.14 to 4.3.16.
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr uint64_t kMax32 = 0xffffffff;

// Little-endian fields; every read is checked.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size(); }
  bool Has(uint64_t at, uint64_t n) const { return at <= bytes_.size() && n <= bytes_.size() - at; }
  template <typename T>
  T At(uint64_t at) const {
    T value{};
    if (Has(at, sizeof value)) std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  std::span<const std::byte> Part(uint64_t at, uint64_t n) const { return bytes_.subspan(at, n); }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  uint64_t entries = 0, offset = 0, size = 0;
};

std::optional<Directory> FindDirectory(const Bytes& b) {
  if (b.size() < kEndSize) return std::nullopt;
  const size_t last = b.size() - kEndSize,
               first = last > 0xffff ? last - 0xffff : 0;  // an archive comment may follow
  for (size_t at = last + 1; at-- > first;) {
    if (b.At<uint32_t>(at) != kEnd) continue;
    Directory d{b.At<uint16_t>(at + 10), b.At<uint32_t>(at + 16), b.At<uint32_t>(at + 12)};
    if (at >= kLocator64Size && b.At<uint32_t>(at - kLocator64Size) == kLocator64) {
      const uint64_t end64 = b.At<uint64_t>(at - kLocator64Size + 8);
      if (!b.Has(end64, kEnd64Size) || b.At<uint32_t>(end64) != kEnd64) return std::nullopt;
      d = {b.At<uint64_t>(end64 + 32), b.At<uint64_t>(end64 + 48), b.At<uint64_t>(end64 + 40)};
    }
    if (!b.Has(d.offset, d.size) || d.entries > d.size / kCentralSize) return std::nullopt;
    return d;
  }
  return std::nullopt;
}

struct Entry {
  std::string name;
  uint16_t method = 0;
  uint64_t packed = 0, size = 0, local = 0, next = 0;
};

// The central directory's entry at `at`; 64-bit values come from its zip64 extra field.
std::optional<Entry> ReadEntry(const Bytes& b, uint64_t at, uint64_t end) {
  if (!b.Has(at, kCentralSize) || at + kCentralSize > end || b.At<uint32_t>(at) != kCentral)
    return std::nullopt;
  const uint64_t name = b.At<uint16_t>(at + 28), extra = b.At<uint16_t>(at + 30),
                 comment = b.At<uint16_t>(at + 32);
  Entry e{.method = b.At<uint16_t>(at + 10),
          .packed = b.At<uint32_t>(at + 20),
          .size = b.At<uint32_t>(at + 24),
          .local = b.At<uint32_t>(at + 42)};
  e.next = at + kCentralSize + name + extra + comment;
  if (e.next > end) return std::nullopt;
  const auto text = b.Part(at + kCentralSize, name);
  e.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
  const uint64_t extra_end = at + kCentralSize + name + extra;
  for (uint64_t field = at + kCentralSize + name; field + 4 <= extra_end;) {
    const uint16_t id = b.At<uint16_t>(field), length = b.At<uint16_t>(field + 2);
    uint64_t value = field + 4;
    const uint64_t value_end = std::min<uint64_t>(value + length, extra_end);
    if (id == 1) {
      for (uint64_t* wide : {&e.size, &e.packed, &e.local}) {
        if (*wide != kMax32) continue;
        if (value + 8 > value_end) return std::nullopt;
        *wide = b.At<uint64_t>(value);
        value += 8;
      }
    }
    field += 4 + length;
  }
  return e;
}

}  // namespace

bool LooksLikeZip(std::span<const std::byte> bytes) {
  return Bytes(bytes).Has(0, 4) && Bytes(bytes).At<uint32_t>(0) == kLocal;
}

StatusOr<std::map<std::string, std::span<const std::byte>>> ReadZipDirectory(const MappedFile& file) {
  const Bytes b(file.bytes());
  const auto broken = [&](const std::string& why) {
    return FileError(fmt::format("{} is not a whole zip archive", file.path()), why,
                     "the file may be cut short: copy or download it again");
  };
  const std::optional<Directory> directory = FindDirectory(b);
  if (!directory) return broken("its directory was not found at the end");
  std::map<std::string, std::span<const std::byte>> out;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    const std::optional<Entry> e = ReadEntry(b, at, directory->offset + directory->size);
    if (!e) return broken(fmt::format("entry {} of its directory is broken", i));
    if (e->method != 0 || e->packed != e->size) {
      return FileError(fmt::format("{}: entry {} is compressed", file.path(), e->name),
                       "torch.save stores entries as they are", "save the checkpoint again with torch.save");
    }
    if (!b.Has(e->local, kLocalSize) || b.At<uint32_t>(e->local) != kLocal)
      return broken(fmt::format("entry {} does not lie where the directory says", e->name));
    const uint64_t data =
        e->local + kLocalSize + b.At<uint16_t>(e->local + 26) + b.At<uint16_t>(e->local + 28);
    if (!b.Has(data, e->size)) return broken(fmt::format("entry {} ends after the file", e->name));
    if (!out.emplace(e->name, b.Part(data, e->size)).second)
      return broken(fmt::format("entry {} is there twice", e->name));
    at = e->next;
  }
  return out;
}

}  // namespace nextscale
