// The bytes of a pickle, read from front to back; every read is checked.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "base/status.h"

namespace nextscale {

class PickleBytes {
 public:
  PickleBytes(std::span<const std::byte> bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}
  const std::string& where() const { return where_; }

  Status Broken(const std::string& why) const {
    return FileError(fmt::format("{} is not a pickle that torch.save writes", where_),
                     fmt::format("{}, at byte {}", why, at_), "save the checkpoint again with torch.save");
  }
  template <typename T>
  Status Read(T& value) {
    if (bytes_.size() - at_ < sizeof value) return Broken("it is cut short");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return absl::OkStatus();
  }
  Status Skip(size_t n) {
    if (bytes_.size() - at_ < n) return Broken("it is cut short");
    at_ += n;
    return absl::OkStatus();
  }
  // A text after its length.
  template <typename Length>
  Status ReadText(std::string& text) {
    Length length = 0;
    NS_RETURN_IF_ERROR(Read(length));
    if (length > bytes_.size() - at_) return Broken("a string is longer than the file");
    text.assign(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    return absl::OkStatus();
  }
  // A text up to a line's end.
  Status ReadLine(std::string& text) {
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const void* end = std::memchr(begin, '\n', bytes_.size() - at_);
    if (!end) return Broken("a name is not ended");
    text.assign(begin, static_cast<const char*>(end));
    at_ += text.size() + 1;
    return absl::OkStatus();
  }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
  size_t at_ = 0;
};

}  // namespace nextscale
