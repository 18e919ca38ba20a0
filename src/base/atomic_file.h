// A file that appears whole or not at all: written under a temporary name beside it, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace nextscale {

class AtomicFile {
 public:
  // `bytes`: what will be written. Errors: CallError if `path` is a folder or its folder is not there;
  // WorkError if it can't be written or the disk has less space than that.
  static StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& path, int64_t bytes);
  // Removes what was written unless Commit succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  Status Write(std::span<const std::byte> bytes);
  // Flushes to disk and gives the file its name.
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  std::string path_, temporary_;
  int fd_;
};

// All of it at once; an old file of that name stays if that fails. Errors as above.
Status WriteFileAtomically(const std::string& path, std::string_view bytes);

}  // namespace nextscale
