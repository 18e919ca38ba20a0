#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "metrics/image_io.h"

namespace nextscale {
namespace {

// A name no other process or thread takes, in the folder of `path`, short whatever the path's own name.
std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return (folder / fmt::format(".nextscale-{}-{}.tmp", ::getpid(), count.fetch_add(1))).string();
}

// 0, or the system's error number.
int WriteAll(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<size_t>(n);
  }
  return 0;
}

Status CannotWrite(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const char* to_try = full              ? "free some space, or write elsewhere"
                       : error == ENOENT ? "create the folder first"
                                         : "check the folder's permissions, or write elsewhere";
  return WorkError(fmt::format("cannot write {}", path), std::strerror(error), to_try);
}

}  // namespace

Status WriteFileAtomically(const std::string& path, const std::string& bytes) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return WorkError(fmt::format("cannot write {}", path),
                     S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file", "name a file");
  }
  const std::string temporary = TemporaryName(path);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return CannotWrite(path, errno);
  int error = WriteAll(fd, bytes);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  ::unlink(temporary.c_str());
  return CannotWrite(path, error);
}

}  // namespace nextscale
