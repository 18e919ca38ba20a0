// What to paste into a report.
#pragma once

#include <string>

namespace nextscale {

std::string VersionNumber();  // "0.1.0"
std::string VersionText();    // version, commit, libraries, processor

}  // namespace nextscale
