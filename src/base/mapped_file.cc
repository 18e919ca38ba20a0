#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace nextscale {
namespace {

constexpr uintptr_t kPage = 4096;

}  // namespace

StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused below, not waited for
  if (fd < 0) {
    return CallError(fmt::format("cannot open {}", path), std::strerror(errno),
                     errno == ENOENT ? "check the path" : "check the file's permissions");
  }
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return FileError(fmt::format("{} is not a regular file", path), "",
                     "name a file, not a folder or a device");
  }
  const size_t size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED) return WorkError(fmt::format("cannot map {}", path), std::strerror(error));
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Release(std::span<const std::byte> part) const {
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(part.data()) + kPage - 1) & ~(kPage - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size()) & ~(kPage - 1);
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void MappedFile::WillNeed(std::span<const std::byte> part) const {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()) & ~(kPage - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  NS_ASSIGN_OR_RETURN(auto file, MappedFile::Open(path));
  if (file->bytes().size() > max_bytes) {
    return FileError(fmt::format("{} is too large", path),
                     fmt::format("{} bytes, at most {} expected", file->bytes().size(), max_bytes));
  }
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

}  // namespace nextscale
