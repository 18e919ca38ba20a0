// UTF-8 (RFC 3629), for text that comes from users and files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nextscale {

// Offset of the first byte that is not part of valid UTF-8: stray and missing continuation bytes, overlong
// forms, surrogates, values above 10FFFF. npos if all is valid.
size_t FirstInvalidUtf8(std::string_view text);

// Code points of valid UTF-8 (a bug if it isn't), and back. AppendUtf8 writes U+FFFD for what is no
// character.
std::u32string CodePoints(std::string_view valid);
void AppendUtf8(char32_t character, std::string& text);

}  // namespace nextscale
