// See progress.h.
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace nextscale {
namespace {

constexpr int64_t kBarWidth = 24;

std::string Bar(int64_t done, int64_t total) {
  const int64_t full = total > 0 ? kBarWidth * done / total : 0;
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(kBarWidth - full, '.'));
}

// Notices quote prompts and names out of files, which may hold terminal commands.
std::string WithoutControls(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

// One object a line, whatever bytes a path or prompt holds.
std::string Line(const nlohmann::ordered_json& object) {
  std::string line = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  line.push_back('\n');
  return line;
}

}  // namespace

Progress::Form Progress::FormFor(bool quiet, bool json) {
  if (quiet) return Form::kQuiet;
  if (json) return Form::kJson;
  return isatty(STDERR_FILENO) ? Form::kBar : Form::kLines;
}

Progress::Progress(Progress&& other) noexcept
    : form_(other.form_), out_(other.out_), bar_open_(std::exchange(other.bar_open_, false)) {}

void Progress::Notice(const std::string& text) {
  if (form_ == Form::kQuiet) return;
  EndBar();
  std::fputs(form_ == Form::kJson ? Line({{"notice", text}}).c_str()
                                  : fmt::format("{}\n", WithoutControls(text)).c_str(),
             out_);
  std::fflush(out_);
}

void Progress::Step(const std::string& what, int64_t done, int64_t total, const std::string& text,
                    const nlohmann::ordered_json& fields) {
  if (form_ == Form::kQuiet) return;
  if (form_ == Form::kJson) {
    nlohmann::ordered_json object = {{"progress", what}, {"done", done}, {"total", total}};
    object.update(fields);
    std::fputs(Line(object).c_str(), out_);
  } else if (form_ == Form::kBar) {
    constexpr const char* kToLineStart = "\r\x1b[K";
    std::fputs(
        fmt::format("{}{} {} {}/{} {}", kToLineStart, Bar(done, total), what, done, total, text).c_str(),
        out_);
    bar_open_ = true;
    if (done >= total) EndBar();
  } else {
    std::fputs(fmt::format("{} {}/{} {}\n", what, done, total, text).c_str(), out_);
  }
  std::fflush(out_);
}

void Progress::EndBar() {
  if (bar_open_) std::fputs("\n", out_);
  bar_open_ = false;
}

}  // namespace nextscale
