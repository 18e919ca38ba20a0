// EXIF blocks (CIPA DC-008) that carry a picture's text in JPEG and WebP: one UserComment, UTF-16 with the
// charset code "UNICODE", which is where tools that know the A1111 form look. It holds "parameters"; behind
// them, as one more field of their last line, `nextscale: "JSON as a JSON string"`, so that those tools still
// read the fields.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "metrics/image_io.h"

namespace nextscale {

// A TIFF block, without JPEG's "Exif\0\0" before it. `text` is valid UTF-8.
std::string BuildExif(const ImageText& text);
// The texts of a TIFF block (with or without "Exif\0\0"); a comment by another writer is "parameters". Empty
// if there is no comment, or none that can be read: whatever the bytes, this is no error.
ImageText ParseExif(std::span<const std::byte> exif);

// The comment's text and its two parts.
std::string JoinComment(const ImageText& text);
ImageText SplitComment(std::string_view comment);

}  // namespace nextscale
