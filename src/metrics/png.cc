// PNG by libpng. Its errors are long jumps: each stage that can fail is a small member function without
// objects to destroy.
#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "metrics/codecs.h"

namespace nextscale {
namespace {

constexpr png_alloc_size_t kMaxChunkBytes = 16 << 20;  // of text or a profile, unpacked

// Whether each chunk that is begun is all there: libpng takes the memory that a chunk claims, up to 2 GiB,
// before it finds its end missing.
bool ChunksAreWhole(std::span<const std::byte> bytes) {
  constexpr size_t kSignature = 8, kAround = 12;  // length, name, checksum
  for (size_t at = kSignature; at + 4 <= bytes.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<size_t>(bytes[at + i]);
    if (length + kAround > bytes.size() - at) return false;
    const bool end = std::memcmp(bytes.data() + at + 4, "IEND", 4) == 0;
    at += length + kAround;
    if (end) return true;
  }
  return false;
}

// libpng's message of the error that stopped a stage.
struct PngMessage {
  char text[160] = "";
};
[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  std::snprintf(static_cast<PngMessage*>(png_get_error_ptr(png))->text, sizeof(PngMessage::text), "%s",
                message);
  png_longjmp(png, 1);
}
void OnWarning(png_structp, png_const_charp) {}  // of chunks that pixels don't depend on

std::string Latin1ToUtf8(std::string_view text) {
  std::string out;
  for (const char c : text) AppendUtf8(static_cast<unsigned char>(c), out);
  return out;
}

// False if `utf8` holds characters that a tEXt chunk may not.
bool ToLatin1(std::string_view utf8, std::string* out) {
  for (const char32_t c : CodePoints(utf8)) {
    const bool allowed = c == '\n' || (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c <= 0xff);
    if (!allowed) return false;
    out->push_back(static_cast<char>(c));
  }
  return true;
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message_, OnError, OnWarning);
    if (png_) info_ = png_create_info_struct(png_);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool ReadHeader() {
    if (!info_ || setjmp(png_jmpbuf(png_))) return false;
    if (!ChunksAreWhole(rest_)) png_error(png_, "the file is cut short");
    png_set_read_fn(png_, this, Read);
    png_set_user_limits(png_, kMaxImageSide, kMaxImageSide);
    png_set_chunk_malloc_max(png_, kMaxChunkBytes);
    png_read_info(png_, info_);
    return true;
  }
  // All kinds become 8-bit RGB or RGBA.
  bool Expand() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool ReadRows(uint8_t* out) {
    if (setjmp(png_jmpbuf(png_))) return false;
    const size_t row = png_get_rowbytes(png_, info_);
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t y = 0; y < height(); ++y) png_read_row(png_, out + static_cast<size_t>(y) * row, nullptr);
    }
    return true;
  }
  // To reach what is behind the pixels.
  bool SkipRows() {
    if (setjmp(png_jmpbuf(png_))) return false;
    const int passes = png_set_interlace_handling(png_);
    png_start_read_image(png_);
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t y = 0; y < height(); ++y) png_read_row(png_, nullptr, nullptr);
    }
    return true;
  }
  bool ReadEnd() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_end(png_, info_);
    return true;
  }

  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }
  int64_t channels() const { return png_get_channels(png_, info_); }
  const char* message() const { return message_.text; }

  ImageText Text() const {
    ImageText out;
    png_textp chunks = nullptr;
    const int n = png_get_text(png_, info_, &chunks, nullptr);
    for (int i = 0; i < n; ++i) {
      if (!chunks[i].text) continue;
      const bool utf8 = chunks[i].compression >= PNG_ITXT_COMPRESSION_NONE;
      std::string text = utf8 ? chunks[i].text : Latin1ToUtf8(chunks[i].text);
      if (FirstInvalidUtf8(text) == std::string_view::npos)
        out[Latin1ToUtf8(chunks[i].key)] = std::move(text);
    }
    return out;
  }

 private:
  static void Read(png_structp png, png_bytep to, size_t n) {
    std::span<const std::byte>& rest = static_cast<Reader*>(png_get_io_ptr(png))->rest_;
    if (n > rest.size()) png_error(png, "the file is cut short");
    std::memcpy(to, rest.data(), n);
    rest = rest.subspan(n);
  }

  std::span<const std::byte> rest_;
  PngMessage message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
};

class Writer {
 public:
  Writer() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message_, OnError, OnWarning);
    if (png_) info_ = png_create_info_struct(png_);
  }
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool Write(const Image& image, const std::vector<png_text>& text) {
    if (!info_ || setjmp(png_jmpbuf(png_))) return false;
    png_set_write_fn(png_, this, Append, nullptr);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
                 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_text(png_, info_, text.data(), static_cast<int>(text.size()));
    png_write_info(png_, info_);
    for (int64_t y = 0; y < image.height; ++y) png_write_row(png_, image.rgb.data() + y * image.width * 3);
    png_write_end(png_, info_);
    return true;
  }
  std::string& bytes() { return bytes_; }
  const char* message() const { return message_.text; }

 private:
  static void Append(png_structp png, png_bytep from, size_t n) {
    static_cast<Writer*>(png_get_io_ptr(png))->bytes_.append(reinterpret_cast<const char*>(from), n);
  }

  std::string bytes_;
  PngMessage message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

Status Broken(const std::string& path, const Reader& reader) {
  return FileError(fmt::format("{} is a broken PNG file", path), reader.message());
}

}  // namespace

StatusOr<std::string> EncodePng(const Image& image, const ImageText& text, const std::string& path) {
  std::vector<std::string> values;  // what the chunks point to
  std::vector<png_text> chunks;
  values.reserve(text.size());
  for (const auto& [key, utf8] : text) {
    std::string latin1;
    const bool fits = ToLatin1(utf8, &latin1);
    values.push_back(fits ? latin1 : utf8);
    png_text chunk{};
    chunk.compression = fits ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
    chunk.key = const_cast<char*>(key.c_str());
    chunk.text = values.back().data();
    chunk.text_length = values.back().size();
    chunks.push_back(chunk);
  }
  Writer writer;
  if (!writer.Write(image, chunks))
    return WorkError(fmt::format("cannot make the PNG file {}", path), writer.message());
  return std::move(writer.bytes());
}

StatusOr<Image> DecodePng(std::span<const std::byte> bytes, const std::string& path) {
  Reader reader(bytes);
  if (!reader.ReadHeader()) return Broken(path, reader);
  NS_RETURN_IF_ERROR(CheckImageSize(path, reader.width(), reader.height()));
  if (!reader.Expand()) return Broken(path, reader);
  Image image{reader.width(), reader.height(), {}};
  std::vector<uint8_t> pixels(image.width * image.height * reader.channels());
  if (!reader.ReadRows(pixels.data()) || !reader.ReadEnd()) return Broken(path, reader);
  if (reader.channels() == 3) {
    image.rgb = std::move(pixels);
  } else {
    image.rgb.resize(image.width * image.height * 3);
    OverWhite(pixels, image.rgb.data());
  }
  return image;
}

StatusOr<ImageText> PngText(std::span<const std::byte> bytes, const std::string& path) {
  Reader reader(bytes);
  if (!reader.ReadHeader()) return Broken(path, reader);
  NS_RETURN_IF_ERROR(CheckImageSize(path, reader.width(), reader.height()));
  if (!reader.SkipRows() || !reader.ReadEnd()) return Broken(path, reader);
  return reader.Text();
}

}  // namespace nextscale
