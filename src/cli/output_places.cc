// See output_places.h.
#include "cli/output_places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "metrics/image_io.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// "%d" or "%04d" in `path`: where it begins and ends, and its width.
struct NumberField {
  size_t begin = std::string::npos, end = 0, width = 1;
};
StatusOr<NumberField> FindNumber(const std::string& path) {
  NumberField field;
  field.begin = path.find('%');
  if (field.begin == std::string::npos) return field;
  constexpr size_t kWidest = 20;
  size_t at = field.begin + 1, width = 0;
  if (at < path.size() && path[at] == '0') {
    for (; at < path.size() && path[at] >= '0' && path[at] <= '9' && width <= kWidest; ++at)
      width = 10 * width + static_cast<size_t>(path[at] - '0');
  }
  const bool closes = at < path.size() && path[at] == 'd' && width <= kWidest;
  if (!closes || path.find('%', at) != std::string::npos)
    return CallError(fmt::format("output {}", path), "a % must be one %d or %04d", "e.g. picture-%04d.png");
  field.end = at + 1;
  field.width = std::max<size_t>(width, 1);
  return field;
}

// Whether files can be made there, found out by making one.
Status CheckFolder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return CallError(fmt::format("there is no folder {}", folder.string()), "", "create it first");
  std::string probe = (folder / ".nextscale-XXXXXX").string();
  const int file = mkstemp(probe.data());
  if (file < 0)
    return WorkError(fmt::format("cannot write to folder {}", folder.string()), std::strerror(errno));
  close(file);
  unlink(probe.c_str());
  return absl::OkStatus();
}

// A result may not lie on an input file; nor, unless it is a picture, on a file in a folder that is one.
bool Replaces(const fs::path& output, bool picture, const fs::path& input) {
  std::error_code error;
  if (input.empty() || !fs::exists(output, error)) return false;
  return fs::equivalent(output, input, error) ||
         (!picture && fs::is_directory(input, error) && fs::equivalent(FolderOf(output), input, error));
}

class Checker {
 public:
  explicit Checker(const std::vector<std::string>& inputs) : inputs_(inputs) {}

  Status Check(const std::string& path, bool picture) {
    if (!names_.insert(fs::absolute(path).lexically_normal().string()).second) {
      return CallError(fmt::format("two results would be written to {}", path), "",
                       "give each a name of its own, or number pictures by %04d");
    }
    std::error_code error;
    if (fs::is_directory(path, error))
      return CallError(fmt::format("{} is a folder", path), "a file is needed");
    if (fs::exists(path, error) && !fs::is_regular_file(path, error))
      return CallError(fmt::format("{} is not a regular file", path), "files are written whole, then renamed",
                       "name a file");
    for (const std::string& input : inputs_) {
      if (Replaces(path, picture, input))
        return CallError(fmt::format("{} would be replaced", path), fmt::format("it is part of {}", input));
    }
    const fs::path folder = FolderOf(path);
    return folders_.insert(folder.string()).second ? CheckFolder(folder) : absl::OkStatus();
  }

 private:
  const std::vector<std::string>& inputs_;
  std::set<std::string> names_, folders_;
};

}  // namespace

StatusOr<std::string> NumberedPath(const std::string& path, int64_t index, int64_t total, uint64_t seed) {
  if (path.empty()) return CallError("an output has no name");
  std::error_code error;
  if (path.back() == '/' || fs::is_directory(path, error))
    return (fs::path(path) / fmt::format("{:04d}-{}.png", index, seed)).string();
  NS_ASSIGN_OR_RETURN(const NumberField number, FindNumber(path));
  if (number.begin != std::string::npos) {
    return fmt::format("{}{:0{}d}{}", path.substr(0, number.begin), index, number.width,
                       path.substr(number.end));
  }
  if (total == 1) return path;
  const fs::path p(path);
  const fs::path numbered = p.parent_path() / (p.stem().string() + "-%04d" + p.extension().string());
  return CallError(fmt::format("{} pictures and one name, {}", total, path), "",
                   fmt::format("number them: {}", numbered.string()));
}

std::string PathWithNumber(const std::string& path, int64_t index) {
  const fs::path p(path);
  return (p.parent_path() / fmt::format("{}-{:04d}{}", p.stem().string(), index, p.extension().string()))
      .string();
}

Status CheckOutputs(const OutputPlaces& places) {
  for (const std::string& picture : places.pictures) NS_RETURN_IF_ERROR(FormatOfPath(picture).status());
  for (const std::string& folder : places.new_folders) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error && !fs::is_directory(folder))
      return WorkError(fmt::format("cannot make folder {}", folder), error.message());
    NS_RETURN_IF_ERROR(CheckFolder(folder));
  }
  Checker checker(places.inputs);
  for (const std::string& picture : places.pictures) NS_RETURN_IF_ERROR(checker.Check(picture, true));
  for (const std::string& other : places.others) NS_RETURN_IF_ERROR(checker.Check(other, false));
  return absl::OkStatus();
}

}  // namespace nextscale
