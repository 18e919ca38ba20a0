#include "cli/version.h"

#include <fmt/format.h>

#include "base/threads.h"
#include "ops/isa.h"

namespace nextscale {

std::string VersionNumber() { return NEXTSCALE_VERSION; }

std::string VersionText() {
  return fmt::format(
      "nextscale {}\ncommit: {}\ncompiler: {}\nlibraries: oneDNN {}\nprocessor: {}\nthreads: {}",
      NEXTSCALE_VERSION, NEXTSCALE_COMMIT, __VERSION__, OneDnnVersion(), ProcessorDescription(),
      MaxThreads());
}

}  // namespace nextscale
