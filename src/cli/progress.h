// Notices and progress on standard error: a bar on a terminal, plain lines elsewhere, or one JSON object a
// line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nextscale {

class Progress {
 public:
  enum class Form { kQuiet, kLines, kBar, kJson };
  // kBar where standard error is a terminal.
  static Form FormFor(bool quiet, bool json);

  Progress(Form form, std::FILE* out) : form_(form), out_(out) {}
  Progress(Progress&& other) noexcept;
  ~Progress() { EndBar(); }

  // A line for people; in JSON {"notice": text}.
  void Notice(const std::string& text);
  // `done` of `total` steps of `what` ("scale"). A person reads `text` ("4x4, 0.12 s"), a program
  // {"progress": what, "done", "total", ...fields}; `fields` is an object.
  void Step(const std::string& what, int64_t done, int64_t total, const std::string& text,
            const nlohmann::ordered_json& fields);
  // Leaves the bar's line, so that other output starts on a fresh one.
  void EndBar();

 private:
  Form form_;
  std::FILE* out_;
  bool bar_open_ = false;
};

}  // namespace nextscale
