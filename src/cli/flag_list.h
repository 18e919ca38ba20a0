// Numbers and lists in the values of flags.
#pragma once

#include <charconv>
#include <string_view>
#include <vector>

namespace nextscale {

// "a,b" -> a, b; "" -> nothing; "a," -> a and an empty one.
std::vector<std::string_view> SplitList(std::string_view text, char separator = ',');

// The whole text as a number.
template <typename T>
bool ParseWhole(std::string_view text, T& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace nextscale
