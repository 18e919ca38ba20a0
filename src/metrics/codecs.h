// The three file formats behind image_io.h: bytes to pictures and back. Each library's errors stop in its
// file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "metrics/image_io.h"

namespace nextscale {

// Larger pictures are refused before memory is taken for them: a file of some KiB can claim any size.
inline constexpr int64_t kMaxImageSide = 65535;
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // the fuzzers' time is for parsing, not for filling memory
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 18;
#else
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 28;  // 1 GiB as RGBA
#endif
Status CheckImageSize(const std::string& path, int64_t width, int64_t height);

// Encoders: WorkError that names `path` if the picture or its text doesn't fit the format.
StatusOr<std::string> EncodePng(const Image& image, const ImageText& text, const std::string& path);
StatusOr<std::string> EncodeJpeg(const Image& image, const ImageText& text,
                                 const std::string& path);  // quality 95, no chroma subsampling
StatusOr<std::string> EncodeWebp(const Image& image, const ImageText& text,
                                 const std::string& path);  // lossless

// Decoders: FileError that names `path`. The bytes start with the format's signature.
StatusOr<Image> DecodePng(std::span<const std::byte> bytes, const std::string& path);
StatusOr<Image> DecodeJpeg(std::span<const std::byte> bytes, const std::string& path);
StatusOr<Image> DecodeWebp(std::span<const std::byte> bytes, const std::string& path);

// The text stored with a picture.
StatusOr<ImageText> PngText(std::span<const std::byte> bytes, const std::string& path);
StatusOr<ImageText> JpegText(std::span<const std::byte> bytes, const std::string& path);
StatusOr<ImageText> WebpText(std::span<const std::byte> bytes, const std::string& path);

// RGBA pixels [n, 4] laid over white, to RGB [n, 3].
void OverWhite(std::span<const uint8_t> rgba, uint8_t* rgb);

}  // namespace nextscale
