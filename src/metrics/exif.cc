#include "metrics/exif.h"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/utf8.h"

namespace nextscale {
namespace {

constexpr uint16_t kExifPointer = 0x8769, kExifVersion = 0x9000, kUserComment = 0x9286;
constexpr uint16_t kTypeLong = 4, kTypeUndefined = 7;
constexpr std::string_view kUnicode("UNICODE\0", 8), kAscii("ASCII\0\0\0", 8), kPrefix("Exif\0\0", 6);
constexpr std::string_view kField = "nextscale: \"";

void Put16(std::string& out, uint32_t v) {
  out.push_back(static_cast<char>(v >> 8));
  out.push_back(static_cast<char>(v));
}
void Put32(std::string& out, uint32_t v) {
  Put16(out, v >> 16);
  Put16(out, v & 0xffff);
}
void PutEntry(std::string& out, uint16_t tag, uint16_t type, size_t count, uint32_t value) {
  Put16(out, tag);
  Put16(out, type);
  Put32(out, static_cast<uint32_t>(count));
  Put32(out, value);
}

std::string ToUtf16Be(std::string_view utf8) {
  std::string out;
  for (const char32_t c : CodePoints(utf8)) {
    if (c >= 0x10000) {
      Put16(out, 0xd800 + ((c - 0x10000) >> 10));
      Put16(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
      Put16(out, c);
    }
  }
  return out;
}

std::string FromUtf16(std::string_view bytes, bool big_endian) {
  const auto unit = [&](size_t i) -> char32_t {
    const auto a = static_cast<unsigned char>(bytes[2 * i]), b = static_cast<unsigned char>(bytes[2 * i + 1]);
    return big_endian ? a << 8 | b : b << 8 | a;
  };
  std::string out;
  const size_t units = bytes.size() / 2;
  for (size_t i = 0; i < units; ++i) {
    const char32_t c = unit(i);
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < units && unit(i + 1) >= 0xdc00 && unit(i + 1) < 0xe000) {
      AppendUtf8(0x10000 + ((c - 0xd800) << 10) + (unit(++i) - 0xdc00), out);
    } else if (c != 0xfeff) {
      AppendUtf8(c, out);
    }
  }
  return out;
}

// Writers disagree on the byte order of "UNICODE" comments. Most text has more zero upper bytes than zero
// lower ones.
bool LooksBigEndian(std::string_view bytes) {
  int64_t zeros_at_even = 0, zeros_at_odd = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    zeros_at_even += bytes[i] == 0;
    zeros_at_odd += bytes[i + 1] == 0;
  }
  return zeros_at_even >= zeros_at_odd;
}

// Reads numbers of a TIFF block in its byte order; nothing outside its bounds.
class TiffReader {
 public:
  static std::optional<TiffReader> Open(std::string_view block) {
    const bool big = block.starts_with(std::string_view("MM\0*", 4));
    if (!big && !block.starts_with(std::string_view("II*\0", 4))) return std::nullopt;
    return TiffReader(block, big);
  }

  struct Entry {
    uint16_t type = 0;
    uint32_t count = 0, value = 0;
  };
  std::optional<Entry> Find(uint32_t directory, uint16_t tag) const {
    const std::optional<uint32_t> entries = Number(directory, 2);
    for (uint32_t i = 0; entries && i < *entries; ++i) {
      const uint64_t at = uint64_t{directory} + 2 + 12 * uint64_t{i};
      const auto found = Number(at, 2), type = Number(at + 2, 2), count = Number(at + 4, 4),
                 value = Number(at + 8, 4);
      if (!value) return std::nullopt;
      if (*found == tag) return Entry{static_cast<uint16_t>(*type), *count, *value};
    }
    return std::nullopt;
  }
  std::optional<uint32_t> FirstDirectory() const { return Number(4, 4); }
  std::optional<std::string_view> Bytes(uint32_t at, uint32_t count) const {
    if (uint64_t{at} + count > block_.size()) return std::nullopt;
    return block_.substr(at, count);
  }

 private:
  TiffReader(std::string_view block, bool big) : block_(block), big_(big) {}

  std::optional<uint32_t> Number(uint64_t at, int bytes) const {
    if (at + bytes > block_.size()) return std::nullopt;
    uint32_t v = 0;
    for (int i = 0; i < bytes; ++i)
      v = v << 8 | static_cast<unsigned char>(block_[at + (big_ ? i : bytes - 1 - i)]);
    return v;
  }

  std::string_view block_;
  bool big_;
};

std::string DecodeComment(std::string_view comment) {
  if (comment.starts_with(kUnicode)) {
    comment.remove_prefix(kUnicode.size());
    return FromUtf16(comment, LooksBigEndian(comment));
  }
  if (comment.starts_with(kAscii)) comment.remove_prefix(kAscii.size());
  if (comment.starts_with(std::string_view("\0\0\0\0\0\0\0\0", 8)))
    comment.remove_prefix(8);  // charset not told
  comment = comment.substr(0, comment.find('\0'));
  return FirstInvalidUtf8(comment) == std::string_view::npos ? std::string(comment) : std::string();
}

}  // namespace

std::string BuildExif(const ImageText& text) {
  const std::string comment = std::string(kUnicode) + ToUtf16Be(JoinComment(text));
  constexpr uint32_t kFirstDirectory = 8, kExifDirectory = kFirstDirectory + 2 + 12 + 4,
                     kData = kExifDirectory + 2 + 2 * 12 + 4;
  std::string out("MM\0*", 4);
  Put32(out, kFirstDirectory);
  Put16(out, 1);
  PutEntry(out, kExifPointer, kTypeLong, 1, kExifDirectory);
  Put32(out, 0);  // no further directory
  Put16(out, 2);
  PutEntry(out, kExifVersion, kTypeUndefined, 4, 0x30323330);  // "0230"
  PutEntry(out, kUserComment, kTypeUndefined, comment.size(), kData);
  Put32(out, 0);
  return out + comment;
}

ImageText ParseExif(std::span<const std::byte> exif) {
  std::string_view block(reinterpret_cast<const char*>(exif.data()), exif.size());
  if (block.starts_with(kPrefix)) block.remove_prefix(kPrefix.size());
  const auto tiff = TiffReader::Open(block);
  if (!tiff) return {};
  const auto first = tiff->FirstDirectory();
  if (!first) return {};
  const auto pointer = tiff->Find(*first, kExifPointer);
  if (!pointer) return {};
  const auto entry = tiff->Find(pointer->value, kUserComment);
  if (!entry || entry->count < kUnicode.size()) return {};
  const auto comment = tiff->Bytes(entry->value, entry->count);
  return comment ? SplitComment(DecodeComment(*comment)) : ImageText();
}

std::string JoinComment(const ImageText& text) {
  const auto parameters = text.find("parameters"), json = text.find("nextscale");
  std::string out = parameters == text.end() ? "" : parameters->second;
  if (json == text.end()) return out;
  if (parameters != text.end()) out += ", ";
  return out + "nextscale: " + nlohmann::json(json->second).dump();
}

ImageText SplitComment(std::string_view comment) {
  ImageText text;
  // Quotes inside the JSON string are escaped: the last match is the field's start.
  const size_t at = comment.rfind(kField);
  const bool separated = at == 0 || (at != std::string_view::npos && comment.substr(0, at).ends_with(", "));
  if (separated) {
    const auto json =
        nlohmann::json::parse(comment.substr(at + kField.size() - 1), nullptr, /*allow_exceptions=*/false);
    if (json.is_string()) {
      text["nextscale"] = json.get<std::string>();
      if (at == 0) return text;
      comment = comment.substr(0, at - 2);
      text["parameters"] = std::string(comment);
      return text;
    }
  }
  if (!comment.empty()) text["parameters"] = std::string(comment);
  return text;
}

}  // namespace nextscale
