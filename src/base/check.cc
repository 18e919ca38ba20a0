#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace nextscale {

void CheckFailed(const char* file, int line, const char* condition, const std::string& details) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\nThis is a bug in nextscale, please report it.\n", file,
               line, condition, details.empty() ? "" : ": ", details.c_str());
  std::abort();
}

}  // namespace nextscale
