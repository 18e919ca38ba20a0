// Messages for people and programs, on standard error: spdlog's default logger, plain lines or one JSON
// object a line.
#pragma once

#include <spdlog/spdlog.h>

namespace nextscale {

struct LogOptions {
  bool json = false;
  bool quiet = false;  // errors only
};
void SetUpLog(const LogOptions& options);

}  // namespace nextscale
