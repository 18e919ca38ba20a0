#include "metrics/image_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <new>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "metrics/codecs.h"

namespace nextscale {
namespace {

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

StatusOr<ImageFormat> FormatOfContent(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view head = AsText(bytes.first(std::min<size_t>(bytes.size(), 12)));
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (head.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (head.starts_with("RIFF") && head.size() == 12 && head.ends_with("WEBP")) return ImageFormat::kWebp;
  return FileError(fmt::format("{} is not a picture that can be read", path),
                   "expected PNG, JPEG or WebP by its first bytes");
}

// Opens the file and calls the format's reader of three.
template <typename T>
StatusOr<T> ReadWith(const std::string& path,
                     StatusOr<T> (*png)(std::span<const std::byte>, const std::string&),
                     StatusOr<T> (*jpeg)(std::span<const std::byte>, const std::string&),
                     StatusOr<T> (*webp)(std::span<const std::byte>, const std::string&)) {
  NS_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  NS_ASSIGN_OR_RETURN(const ImageFormat format, FormatOfContent(file->bytes(), path));
  const auto read = format == ImageFormat::kPng ? png : format == ImageFormat::kJpeg ? jpeg : webp;
  try {
    return read(file->bytes(), path);
  } catch (const std::bad_alloc&) {
    return WorkError(fmt::format("no memory to read {}", path));
  }
}

// What all three formats can carry.
Status CheckText(const ImageText& text) {
  for (const auto& [key, value] : text) {
    NS_CHECK(key == "parameters" || key == "nextscale", "text key {}", key);
    if (FirstInvalidUtf8(value) != std::string_view::npos || value.find('\0') != std::string::npos) {
      return CallError(fmt::format("the text \"{}\" can't be stored with a picture", key),
                       "it is not UTF-8, or holds a zero byte");
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<ImageFormat> FormatOfPath(const std::string& path) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.ends_with(".png")) return ImageFormat::kPng;
  if (lower.ends_with(".jpg") || lower.ends_with(".jpeg")) return ImageFormat::kJpeg;
  if (lower.ends_with(".webp")) return ImageFormat::kWebp;
  return CallError(fmt::format("cannot tell the picture's format from {}", path),
                   "endings known: .png, .jpg, .jpeg, .webp", "give the file one of them");
}

Status CheckImageSize(const std::string& path, int64_t width, int64_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxImageSide && height <= kMaxImageSide &&
      width * height <= kMaxImagePixels) {
    return absl::OkStatus();
  }
  return FileError(fmt::format("{} is a picture of {}x{}", path, width, height),
                   fmt::format("at most {} a side and {} pixels are read", kMaxImageSide, kMaxImagePixels));
}

void OverWhite(std::span<const uint8_t> rgba, uint8_t* rgb) {
  for (size_t i = 0; i + 3 < rgba.size(); i += 4) {
    const int alpha = rgba[i + 3];
    for (size_t c = 0; c < 3; ++c)
      *rgb++ = static_cast<uint8_t>((rgba[i + c] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
}

Status WriteImage(const std::string& path, const Image& image, const ImageText& text) {
  NS_CHECK(image.width > 0 && image.height > 0, "{}x{}", image.width, image.height);
  NS_CHECK(static_cast<int64_t>(image.rgb.size()) == image.width * image.height * 3, "{} bytes for {}x{}",
           image.rgb.size(), image.width, image.height);
  NS_ASSIGN_OR_RETURN(const ImageFormat format, FormatOfPath(path));
  NS_RETURN_IF_ERROR(CheckText(text));
  const auto encode = format == ImageFormat::kPng    ? EncodePng
                      : format == ImageFormat::kJpeg ? EncodeJpeg
                                                     : EncodeWebp;
  NS_ASSIGN_OR_RETURN(const std::string bytes, encode(image, text, path));
  return WriteFileAtomically(path, bytes);
}

StatusOr<Image> ReadImage(const std::string& path) {
  return ReadWith<Image>(path, DecodePng, DecodeJpeg, DecodeWebp);
}

StatusOr<ImageText> ReadImageText(const std::string& path) {
  return ReadWith<ImageText>(path, PngText, JpegText, WebpText);
}

}  // namespace nextscale
