// See format.h.
#include "cli/format.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

namespace nextscale {

std::string HumanBytes(int64_t bytes) {
  const double kib = 1024.0, value = static_cast<double>(bytes);
  if (value < kib) return fmt::format("{} B", bytes);
  if (value < kib * kib) return fmt::format("{:.1f} KiB", value / kib);
  if (value < kib * kib * kib) return fmt::format("{:.1f} MiB", value / (kib * kib));
  return fmt::format("{:.2f} GiB", value / (kib * kib * kib));
}

std::string ShellQuoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  out += '\'';
  return out;
}

double ShortDouble(float value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{}", value).c_str(), nullptr) : value;
}

}  // namespace nextscale
