// What the targets of picture formats share.
#pragma once

#include <cstdlib>

#include "metrics/image_io.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {

// Reads the file's pixels and its text.
inline void ReadPicture(const std::string& name, const uint8_t* data, size_t size) {
  const std::string path = Write(name, data, size);
  const StatusOr<Image> image = ReadImage(path);
  if (image.ok() && static_cast<int64_t>(image->rgb.size()) != image->width * image->height * 3) std::abort();
  if (!image.ok() && image.status().message().empty()) std::abort();
  const StatusOr<ImageText> text = ReadImageText(path);
  if (!text.ok() && text.status().message().empty()) std::abort();
}

}  // namespace nextscale::fuzz
