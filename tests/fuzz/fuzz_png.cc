// PNG pictures and their text. Checksums are put right first: else the library stops at the first changed
// byte.
#include <zlib.h>

#include "tests/fuzz/fuzz_pictures.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {}; }
namespace {

uint32_t Big32(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

// Chunks: length, name, data, CRC of name and data.
void MendChecksums(std::vector<uint8_t>& png) {
  constexpr size_t kSignature = 8, kAround = 12;
  for (size_t at = kSignature; at + kAround <= png.size();) {
    const size_t length = Big32(&png[at]);
    if (length > png.size() - at - kAround) return;
    const uint32_t crc = static_cast<uint32_t>(::crc32(0, &png[at + 4], static_cast<uInt>(length + 4)));
    for (size_t i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += length + kAround;
  }
}

}  // namespace
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> png(data, data + size);
  nextscale::fuzz::MendChecksums(png);
  nextscale::fuzz::ReadPicture("input.png", png.data(), png.size());
  return 0;
}
