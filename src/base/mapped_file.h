// A file mapped for reading. Pages count as resident once touched, so a reader releases what it has used.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace nextscale {

class MappedFile {
 public:
  // Errors: CallError if there is no such file or it can't be opened, FileError if it is not a regular file.
  // An empty file maps to an empty span.
  static StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Gives the whole pages inside `part` back to the system; they are read again if touched again.
  void Release(std::span<const std::byte> part) const;
  // Asks the system to read `part` ahead.
  void WillNeed(std::span<const std::byte> part) const;

 private:
  MappedFile(std::string path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  const std::byte* data_;
  size_t size_;
};

// The file's whole content as a string; for small files (json, tokenizer). Errors as MappedFile::Open, and
// FileError above max_bytes.
StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes = 256u << 20);

}  // namespace nextscale
