#include "checkpoint/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace nextscale {
namespace {

using nlohmann::json;

constexpr size_t kMostDimensions = 6, kMostMetadataBytes = size_t{1} << 20;
constexpr std::string_view kMetadata = "__metadata__";

// {"__metadata__": {text: text}, NAME: {"dtype": text, "shape": [numbers], "data_offsets": [begin, end]}}.
// A callback that returns false ends the parse; why() says what was wrong.
class HeaderEvents : public nlohmann::json_sax<json> {
 public:
  explicit HeaderEvents(SafetensorsHeader& out) : out_(out) {}
  const std::string& why() const { return why_; }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a truth value"); }
  bool number_integer(number_integer_t) override { return Unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return Unexpected("a fraction"); }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != Level::kArray) return Unexpected("a number");
    if (key_ == "shape") {
      if (value > static_cast<uint64_t>(INT64_MAX) || entry_.shape.size() == kMostDimensions)
        return Wrong("has an impossible shape");
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (offsets_ == 2) return Wrong("has more than two data_offsets");
    (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    return true;
  }
  bool string(string_t& value) override {
    if (level_ == Level::kMetadata) {
      if (key_ != "nextscale") return true;
      if (value.size() > kMostMetadataBytes) return Wrong("is too long");
      out_.metadata = value;
      return true;
    }
    if (level_ != Level::kEntry || key_ != "dtype") return Unexpected("a text");
    entry_.dtype = value;
    return true;
  }
  bool start_object(size_t) override {
    if (level_ == Level::kNothing) {
      level_ = Level::kTop;
    } else if (level_ == Level::kTop) {
      level_ = entry_.name == kMetadata ? Level::kMetadata : Level::kEntry;
    } else {
      return Unexpected("an object");
    }
    return true;
  }
  bool key(string_t& key) override {
    if (level_ != Level::kTop) {
      key_ = key;
      if (level_ == Level::kEntry && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
        return Wrong(fmt::format("has an unknown field {}", key_));
      return true;
    }
    entry_ = {.name = key};
    key_.clear();
    offsets_ = 0;
    has_shape_ = false;
    return true;
  }
  bool end_object() override {
    if (level_ == Level::kEntry) {
      if (entry_.dtype.empty() || !has_shape_ || offsets_ != 2)
        return Wrong("has no dtype, shape and data_offsets");
      out_.entries.push_back(std::move(entry_));
    }
    level_ = level_ == Level::kTop ? Level::kNothing : Level::kTop;
    return true;
  }
  bool start_array(size_t) override {
    if (level_ != Level::kEntry || (key_ != "shape" && key_ != "data_offsets")) return Unexpected("a list");
    if (key_ == "shape" ? has_shape_ : offsets_ != 0) return Wrong(fmt::format("has {} twice", key_));
    has_shape_ |= key_ == "shape";
    level_ = Level::kArray;
    return true;
  }
  bool end_array() override {
    level_ = Level::kEntry;
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    if (why_.empty()) why_ = fmt::format("its header is not JSON, at byte {}", at);
    return false;
  }

 private:
  enum class Level { kNothing, kTop, kMetadata, kEntry, kArray };
  bool Wrong(const std::string& what) {
    why_ = fmt::format("tensor {} {}", entry_.name, what);
    return false;
  }
  bool Unexpected(const std::string& what) {
    why_ = level_ == Level::kNothing ? "its header is not a JSON object"
                                     : fmt::format("its header has {} at {} {}", what, entry_.name, key_);
    return false;
  }

  SafetensorsHeader& out_;
  std::string why_;
  Level level_ = Level::kNothing;
  SafetensorsEntry entry_;
  std::string key_;
  int offsets_ = 0;
  bool has_shape_ = false;
};

Status Broken(const std::string& path, const std::string& why) {
  return FileError(fmt::format("{} is not a whole safetensors file", path), why, "copy or download it again");
}

// The format lets no byte belong to two tensors or to none.
Status CheckLayout(const SafetensorsHeader& header, uint64_t data_bytes, const std::string& path) {
  uint64_t at = 0;
  for (const SafetensorsEntry& e : header.entries) {
    if (e.begin != at || e.end < e.begin) {
      return Broken(path, fmt::format("tensor {} lies at bytes {} to {}, byte {} was expected to be next",
                                      e.name, e.begin, e.end, at));
    }
    at = e.end;
  }
  if (at != data_bytes)
    return Broken(path, fmt::format("its tensors have {} bytes, the file holds {}", at, data_bytes));
  return absl::OkStatus();
}

}  // namespace

StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, uint64_t data_bytes,
                                                   const std::string& path) {
  SafetensorsHeader out;
  HeaderEvents events(out);
  if (!json::sax_parse(text.begin(), text.end(), &events)) return Broken(path, events.why());
  std::stable_sort(out.entries.begin(), out.entries.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::set<std::string_view> names;
  for (const SafetensorsEntry& e : out.entries) {
    if (!names.insert(e.name).second) return Broken(path, fmt::format("it names tensor {} twice", e.name));
  }
  NS_RETURN_IF_ERROR(CheckLayout(out, data_bytes, path));
  return out;
}

}  // namespace nextscale
