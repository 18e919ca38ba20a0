#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace nextscale {
namespace {

Status CannotWrite(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return WorkError(
      fmt::format("cannot write {}", path), std::strerror(error),
      full ? "free some space, or write elsewhere" : "check the folder's permissions, or write elsewhere");
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status CheckSpace(const std::string& path, int64_t bytes) {
  struct statvfs info;
  if (::statvfs(FolderOf(path).c_str(), &info) != 0) return absl::OkStatus();  // the write will tell
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  if (static_cast<double>(bytes) <= free) return absl::OkStatus();
  constexpr double kGiB = 1 << 30;
  return WorkError(
      fmt::format("no space for {}", path),
      fmt::format("it needs {:.1f} GiB, {:.1f} GiB are free", static_cast<double>(bytes) / kGiB, free / kGiB),
      "free some space, or write elsewhere");
}

}  // namespace

StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& path, int64_t bytes) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return CallError(fmt::format("cannot write {}", path),
                     S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file", "name a file");
  }
  if (::stat(FolderOf(path).c_str(), &info) != 0) {
    return CallError(fmt::format("cannot write {}", path),
                     fmt::format("there is no folder {}", FolderOf(path)), "create the folder first");
  }
  NS_RETURN_IF_ERROR(CheckSpace(path, bytes));
  static std::atomic<uint64_t> count{0};
  const std::string temporary =
      fmt::format("{}/.nextscale-{}-{}.tmp", FolderOf(path), ::getpid(), count.fetch_add(1));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return CannotWrite(path, errno);
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, temporary, fd));
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return CannotWrite(path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

Status AtomicFile::Commit() {
  int error = ::fsync(fd_) == 0 ? 0 : errno;
  if (::close(fd_) != 0 && error == 0) error = errno;
  fd_ = -1;
  if (error == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
  if (error != 0) return CannotWrite(path_, error);
  temporary_.clear();
  return absl::OkStatus();
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  NS_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file,
                      AtomicFile::Create(path, static_cast<int64_t>(bytes.size())));
  NS_RETURN_IF_ERROR(file->Write(std::as_bytes(std::span(bytes))));
  return file->Commit();
}

}  // namespace nextscale
