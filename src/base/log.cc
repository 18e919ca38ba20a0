#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace nextscale {

void SetUpLog(const LogOptions& options) {
  auto logger =
      std::make_shared<spdlog::logger>("nextscale", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(options.quiet ? spdlog::level::err : spdlog::level::info);
  logger->set_pattern(options.json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e","level":"%l",%v})" : "%v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace nextscale
