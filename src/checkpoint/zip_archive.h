// The directory of a zip archive whose entries are stored without compression, as torch writes them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/mapped_file.h"

namespace nextscale {

// Entry name -> its bytes in the mapped file. Errors: FileError for an archive that is cut short or
// compressed.
StatusOr<std::map<std::string, std::span<const std::byte>>> ReadZipDirectory(const MappedFile& file);
// Whether the file starts as a zip archive does.
bool LooksLikeZip(std::span<const std::byte> bytes);

}  // namespace nextscale
