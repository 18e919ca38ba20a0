#include "base/utf8.h"

#include "base/check.h"

namespace nextscale {
namespace {

struct Character {
  char32_t value = 0;
  size_t bytes = 0;  // 0: not valid
};

Character First(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead > 0xf7 || text.size() < bytes) return {};
  char32_t value = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return {};
  return {value, bytes};
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Character c = First(text.substr(at));
    if (c.bytes == 0) return at;
    at += c.bytes;
  }
  return std::string_view::npos;
}

std::u32string CodePoints(std::string_view valid) {
  std::u32string out;
  for (size_t at = 0; at < valid.size();) {
    const Character c = First(valid.substr(at));
    NS_CHECK(c.bytes > 0, "invalid UTF-8 at byte {}", at);
    out.push_back(c.value);
    at += c.bytes;
  }
  return out;
}

void AppendUtf8(char32_t character, std::string& text) {
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) character = 0xfffd;
  const auto rest = [&](int shift) { text.push_back(static_cast<char>(0x80 | (character >> shift & 0x3f))); };
  if (character < 0x80) {
    text.push_back(static_cast<char>(character));
  } else if (character < 0x800) {
    text.push_back(static_cast<char>(0xc0 | character >> 6));
    rest(0);
  } else if (character < 0x10000) {
    text.push_back(static_cast<char>(0xe0 | character >> 12));
    rest(6), rest(0);
  } else {
    text.push_back(static_cast<char>(0xf0 | character >> 18));
    rest(12), rest(6), rest(0);
  }
}

}  // namespace nextscale
