// WebP by libwebp; its text in an EXIF chunk by libwebpmux.
#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <memory>
#include <utility>
#include <vector>

#include "metrics/codecs.h"
#include "metrics/exif.h"

namespace nextscale {
namespace {

constexpr int kLosslessEffort = 6;  // of 9

const uint8_t* AsBytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}
WebPData AsData(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

struct MuxDeleter {
  void operator()(WebPMux* mux) const { WebPMuxDelete(mux); }
};
using Mux = std::unique_ptr<WebPMux, MuxDeleter>;

// libwebp's picture and the bytes written, freed together.
struct Encoding {
  WebPPicture picture;
  WebPMemoryWriter writer;
  bool valid;

  Encoding() : valid(WebPPictureInit(&picture)) { WebPMemoryWriterInit(&writer); }
  ~Encoding() {
    if (valid) WebPPictureFree(&picture);
    WebPMemoryWriterClear(&writer);
  }
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;
};

Status CannotMake(const std::string& path, std::string_view why) {
  return WorkError(fmt::format("cannot make the WebP file {}", path), why, "write PNG");
}
Status Broken(const std::string& path, std::string_view why) {
  return FileError(fmt::format("{} is a broken WebP file", path), why);
}

StatusOr<std::string> EncodePixels(const Image& image, const std::string& path) {
  if (image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION) {
    return CannotMake(
        path, fmt::format("{}x{}, at most {} a side fit", image.width, image.height, WEBP_MAX_DIMENSION));
  }
  WebPConfig config;
  Encoding out;
  if (!out.valid || !WebPConfigInit(&config) || !WebPConfigLosslessPreset(&config, kLosslessEffort)) {
    return CannotMake(path, "the library's version differs from its headers");
  }
  out.picture.use_argb = 1;
  out.picture.width = static_cast<int>(image.width);
  out.picture.height = static_cast<int>(image.height);
  out.picture.writer = WebPMemoryWrite;
  out.picture.custom_ptr = &out.writer;
  if (!WebPPictureImportRGB(&out.picture, image.rgb.data(), static_cast<int>(image.width * 3)) ||
      !WebPEncode(&config, &out.picture)) {
    return CannotMake(path, fmt::format("the library's error {}", static_cast<int>(out.picture.error_code)));
  }
  return std::string(reinterpret_cast<const char*>(out.writer.mem), out.writer.size);
}

}  // namespace

StatusOr<std::string> EncodeWebp(const Image& image, const ImageText& text, const std::string& path) {
  NS_ASSIGN_OR_RETURN(std::string pixels, EncodePixels(image, path));
  if (text.empty()) return pixels;
  const std::string exif = BuildExif(text);
  const WebPData picture = AsData(pixels), chunk = AsData(exif);
  const Mux mux(WebPMuxNew());
  WebPData whole{};
  if (!mux || WebPMuxSetImage(mux.get(), &picture, 0) != WEBP_MUX_OK ||
      WebPMuxSetChunk(mux.get(), "EXIF", &chunk, 0) != WEBP_MUX_OK ||
      WebPMuxAssemble(mux.get(), &whole) != WEBP_MUX_OK) {
    return CannotMake(path, "the settings can't be added");
  }
  std::string bytes(reinterpret_cast<const char*>(whole.bytes), whole.size);
  WebPDataClear(&whole);
  return bytes;
}

StatusOr<Image> DecodeWebp(std::span<const std::byte> bytes, const std::string& path) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(AsBytes(bytes), bytes.size(), &features) != VP8_STATUS_OK)
    return Broken(path, "its header is cut short or wrong");
  if (features.has_animation)
    return FileError(fmt::format("{} is an animation", path), "expected a single picture");
  NS_RETURN_IF_ERROR(CheckImageSize(path, features.width, features.height));
  Image image{features.width, features.height, {}};
  const size_t size = static_cast<size_t>(image.width * image.height);
  image.rgb.resize(size * 3);
  constexpr std::string_view kCut = "its data are cut short or wrong";
  if (!features.has_alpha) {
    const int stride = static_cast<int>(image.width * 3);
    if (!WebPDecodeRGBInto(AsBytes(bytes), bytes.size(), image.rgb.data(), image.rgb.size(), stride))
      return Broken(path, kCut);
    return image;
  }
  std::vector<uint8_t> rgba(size * 4);
  const int stride = static_cast<int>(image.width * 4);
  if (!WebPDecodeRGBAInto(AsBytes(bytes), bytes.size(), rgba.data(), rgba.size(), stride))
    return Broken(path, kCut);
  OverWhite(rgba, image.rgb.data());
  return image;
}

StatusOr<ImageText> WebpText(std::span<const std::byte> bytes, const std::string& path) {
  const WebPData data{AsBytes(bytes), bytes.size()};
  const Mux mux(WebPMuxCreate(&data, 0));
  if (!mux) return Broken(path, "its chunks are cut short or wrong");
  WebPData chunk{};
  if (WebPMuxGetChunk(mux.get(), "EXIF", &chunk) != WEBP_MUX_OK) return ImageText();
  return ParseExif({reinterpret_cast<const std::byte*>(chunk.bytes), chunk.size});
}

}  // namespace nextscale
