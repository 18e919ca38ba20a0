#include "cli/version.h"

#include <fmt/format.h>
#include <spdlog/version.h>

#include "base/threads.h"
#include "ops/isa.h"

namespace nextscale {

std::string VersionNumber() { return NEXTSCALE_VERSION; }

std::string VersionText() {
  return fmt::format(
      "nextscale {}\ncommit: {}\ncompiler: {}\nlibraries: oneDNN {}, spdlog {}.{}.{}\nprocessor: "
      "{}\nthreads: {}",
      NEXTSCALE_VERSION, NEXTSCALE_COMMIT, __VERSION__, OneDnnVersion(), SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR,
      SPDLOG_VER_PATCH, ProcessorDescription(), MaxThreads());
}

}  // namespace nextscale
