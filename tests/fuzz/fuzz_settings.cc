// What a picture says of itself: an EXIF block, its comment, and the settings in JSON, which become a
// command.
#include <cstdlib>

#include "cli/picture_settings.h"
#include "metrics/exif.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {}; }

namespace {
void ReadSettings(const std::string& json) {
  const auto command = SettingsCommand(json);
  if (command.ok() ? command->empty() : command.status().message().empty()) std::abort();
}
}  // namespace
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale;
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::ReadSettings(text);
  for (const ImageText& found :
       {SplitComment(text), ParseExif({reinterpret_cast<const std::byte*>(data), size})}) {
    const auto settings = found.find("nextscale");
    if (settings != found.end()) fuzz::ReadSettings(settings->second);
    // What was read can be written, and reads the same.
    if (settings != found.end() && SplitComment(JoinComment(found)) != found) std::abort();
  }
  return 0;
}
