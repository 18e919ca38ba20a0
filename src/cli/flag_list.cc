#include "cli/flag_list.h"

namespace nextscale {

std::vector<std::string_view> SplitList(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    items.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) items.emplace_back();
  }
  return items;
}

}  // namespace nextscale
