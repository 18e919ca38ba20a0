// CHECKs state what only a bug can break: they print names and values and abort. Bad files, flags and
// requests return a Status instead.
#pragma once

#include <fmt/format.h>

#include <string>

namespace nextscale {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& details);

}  // namespace nextscale

// NS_CHECK(condition) or NS_CHECK(condition, "format {}", values...)
#define NS_CHECK(condition, ...)                                                   \
  do {                                                                             \
    if (!(condition)) [[unlikely]]                                                 \
      ::nextscale::CheckFailed(__FILE__, __LINE__, #condition,                     \
                               ::nextscale::check_internal::Details(__VA_ARGS__)); \
  } while (false)

#define NS_CHECK_EQ(a, b) NS_CHECK((a) == (b), "{} is {}, {} is {}", #a, (a), #b, (b))

namespace nextscale::check_internal {
inline std::string Details() { return {}; }
template <typename... Args>
std::string Details(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace nextscale::check_internal
