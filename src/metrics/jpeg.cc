// JPEG by libjpeg-turbo. Its errors are long jumps: each stage that can fail is a small member function
// without objects to destroy.
#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <utility>

// Needs size_t and FILE declared before it.
#include <jerror.h>
#include <jpeglib.h>

#include "metrics/codecs.h"
#include "metrics/exif.h"

namespace nextscale {
namespace {

constexpr int kQuality = 95;
constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr size_t kMostMarkerBytes = 65533;
constexpr int kMostScans =
    500;  // a progressive file of some KiB can ask for hours of passes over the picture
constexpr std::string_view kExifPrefix("Exif\0\0", 6);

struct Errors {
  jpeg_error_mgr base;  // first: libjpeg sees only this
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void OnError(j_common_ptr info) {
  Errors* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}
// Level -1: the data are broken, and libjpeg would go on with what it makes up. Stray bytes between markers
// hurt nothing.
void OnMessage(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA) OnError(info);
}
void OnProgress(j_common_ptr info) {
  if (!info->is_decompressor || reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans)
    return;
  Errors* errors = reinterpret_cast<Errors*>(info->err);
  std::snprintf(errors->message, sizeof(errors->message), "more than %d scans", kMostScans);
  std::longjmp(errors->jump, 1);
}

jpeg_error_mgr* SetUp(Errors& errors) {
  jpeg_error_mgr* base = jpeg_std_error(&errors.base);
  base->error_exit = OnError;
  base->emit_message = OnMessage;
  return base;
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {
    info_.err = SetUp(errors_);
    progress_.progress_monitor = OnProgress;
  }
  ~Reader() {
    if (created_) jpeg_destroy_decompress(&info_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool ReadHeader() {
    if (setjmp(errors_.jump)) return false;
    jpeg_create_decompress(&info_);
    created_ = true;
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_save_markers(&info_, kExifMarker, 0xffff);
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool ReadRows(uint8_t* rgb) {
    if (setjmp(errors_.jump)) return false;
    info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = rgb + size_t{3} * info_.output_scanline * info_.output_width;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  int64_t width() const { return info_.image_width; }
  int64_t height() const { return info_.image_height; }
  bool four_inks() const { return info_.num_components == 4; }
  const char* message() const { return errors_.message; }

  std::span<const std::byte> Exif() const {
    for (jpeg_saved_marker_ptr m = info_.marker_list; m; m = m->next) {
      const std::string_view data(reinterpret_cast<const char*>(m->data), m->data_length);
      if (m->marker == kExifMarker && data.starts_with(kExifPrefix)) return std::as_bytes(std::span(data));
    }
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  Errors errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  bool created_ = false;
};

class Writer {
 public:
  Writer() { info_.err = SetUp(errors_); }
  ~Writer() {
    if (created_) jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool Write(const Image& image, const std::string& exif) {
    if (setjmp(errors_.jump)) return false;
    jpeg_create_compress(&info_);
    created_ = true;
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_width = static_cast<JDIMENSION>(image.width);
    info_.image_height = static_cast<JDIMENSION>(image.height);
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, kQuality, TRUE);
    info_.comp_info[0].h_samp_factor = info_.comp_info[0].v_samp_factor = 1;  // 4:4:4
    info_.optimize_coding = TRUE;
    jpeg_start_compress(&info_, TRUE);
    if (!exif.empty()) {
      jpeg_write_marker(&info_, kExifMarker, reinterpret_cast<const JOCTET*>(exif.data()),
                        static_cast<unsigned>(exif.size()));
    }
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW row =
          const_cast<JSAMPROW>(image.rgb.data()) + size_t{3} * info_.next_scanline * info_.image_width;
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }
  std::string bytes() const { return std::string(reinterpret_cast<const char*>(bytes_), size_); }
  const char* message() const { return errors_.message; }

 private:
  Errors errors_;
  jpeg_compress_struct info_{};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;  // libjpeg's type
  bool created_ = false;
};

Status Broken(const std::string& path, const Reader& reader) {
  return FileError(fmt::format("{} is a broken JPEG file", path), reader.message());
}

}  // namespace

StatusOr<std::string> EncodeJpeg(const Image& image, const ImageText& text, const std::string& path) {
  const std::string exif = text.empty() ? "" : std::string(kExifPrefix) + BuildExif(text);
  if (exif.size() > kMostMarkerBytes) {
    return WorkError(fmt::format("the settings don't fit in the JPEG file {}", path),
                     fmt::format("{} bytes of EXIF, at most {} fit", exif.size(), kMostMarkerBytes),
                     "write PNG or WebP, or leave them out");
  }
  Writer writer;
  if (!writer.Write(image, exif)) {
    return WorkError(fmt::format("cannot make the JPEG file {}", path), writer.message(), "write PNG");
  }
  return writer.bytes();
}

StatusOr<Image> DecodeJpeg(std::span<const std::byte> bytes, const std::string& path) {
  Reader reader(bytes);
  if (!reader.ReadHeader()) return Broken(path, reader);
  NS_RETURN_IF_ERROR(CheckImageSize(path, reader.width(), reader.height()));
  if (reader.four_inks()) {
    return FileError(fmt::format("{} is a CMYK picture", path), "expected grey or colour", "save it as RGB");
  }
  Image image{reader.width(), reader.height(), {}};
  image.rgb.resize(image.width * image.height * 3);
  if (!reader.ReadRows(image.rgb.data())) return Broken(path, reader);
  return image;
}

StatusOr<ImageText> JpegText(std::span<const std::byte> bytes, const std::string& path) {
  Reader reader(bytes);
  if (!reader.ReadHeader()) return Broken(path, reader);
  return ParseExif(reader.Exif());
}

}  // namespace nextscale
