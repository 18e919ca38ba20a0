#include "base/status.h"

namespace nextscale {
namespace {

// Names out of files and calls may hold line breaks and terminal commands: those are shown as \n or \x1b.
std::string OnOneLine(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out.append("\\x").append({kHex[byte >> 4], kHex[byte & 15]});
    } else {
      out += c;
    }
  }
  return out;
}

// The three parts travel as lines of the message.
Status Make(absl::StatusCode code, std::string_view what, std::string_view why, std::string_view to_try) {
  std::string message = OnOneLine(what);
  if (!why.empty()) message.append("\n  why: ").append(OnOneLine(why));
  if (!to_try.empty()) message.append("\n  try: ").append(OnOneLine(to_try));
  return Status(code, absl::string_view(message.data(), message.size()));
}

}  // namespace

Status CallError(std::string_view what, std::string_view why, std::string_view to_try) {
  return Make(absl::StatusCode::kInvalidArgument, what, why, to_try);
}
Status NotYet(std::string_view what) {
  return Make(absl::StatusCode::kUnimplemented, std::string(what) + " is not in this version yet", "", "");
}
Status FileError(std::string_view what, std::string_view why, std::string_view to_try) {
  return Make(absl::StatusCode::kDataLoss, what, why, to_try);
}
Status WorkError(std::string_view what, std::string_view why, std::string_view to_try) {
  return Make(absl::StatusCode::kFailedPrecondition, what, why, to_try);
}
Status Interrupted() { return Make(absl::StatusCode::kCancelled, "interrupted", "", ""); }

int ExitCode(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return 2;
    case absl::StatusCode::kCancelled:
      return 130;
    default:
      return 1;
  }
}

std::string ErrorText(const Status& status) {
  return "error: " + std::string(status.message().data(), status.message().size()) + "\n";
}

}  // namespace nextscale
