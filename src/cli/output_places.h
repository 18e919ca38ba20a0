// Where results go: names for many pictures, and checks before any work is done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace nextscale {

// `path` for picture `index` of `total`: a folder (there already, or written with a closing /) gets names of
// its own, a %d or %04d is replaced by the index. Errors: CallError for one plain name and several pictures,
// and for a % of another form.
StatusOr<std::string> NumberedPath(const std::string& path, int64_t index, int64_t total, uint64_t seed);
// `path` with "-0003" before its ending.
std::string PathWithNumber(const std::string& path, int64_t index);

struct OutputPlaces {
  std::vector<std::string> pictures;     // their endings are checked
  std::vector<std::string> others;       // files of any kind
  std::vector<std::string> new_folders;  // made, with their parents, if they are not there
  std::vector<std::string> inputs;       // files and folders that are read: never written to
};
// Errors: CallError for an unknown ending, two results of one name, a result that would replace an input, a
// folder that isn't there; WorkError for one that can't be written to.
Status CheckOutputs(const OutputPlaces& places);

}  // namespace nextscale
