// Pictures in files: PNG, JPEG, WebP, with the settings that made them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace nextscale {

struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]
};

enum class ImageFormat { kPng, kJpeg, kWebp };
// By the path's ending, any case. Errors: CallError that lists the endings.
StatusOr<ImageFormat> FormatOfPath(const std::string& path);

// Text stored with a picture, by key: "parameters" (A1111 form) and "nextscale" (JSON), both UTF-8. PNG: text
// chunks of those keys (iTXt where not Latin-1). JPEG, WebP: one EXIF UserComment holding "parameters" with
// the JSON behind it (exif.h).
using ImageText = std::map<std::string, std::string>;

// Writes under a temporary name in the same folder, then renames. Errors: WorkError with the system's reason;
// nothing half-written stays.
Status WriteImage(const std::string& path, const Image& image, const ImageText& text);
// Any of the three, recognised by content. Transparent pixels are laid over white; 16 bit, grey and palette
// become 8-bit RGB.
StatusOr<Image> ReadImage(const std::string& path);
StatusOr<ImageText> ReadImageText(const std::string& path);

}  // namespace nextscale
