// --report and --plan of `generate`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/generate_task.h"

namespace nextscale {

struct RunSeconds {
  double load = 0, text = 0, transformer = 0, vae = 0, write = 0;
};

// What a run has done so far.
struct RunReport {
  std::vector<size_t> written;      // indices of pictures, as they were finished
  std::vector<ScaleReport> scales;  // of all batches, in order
  RunSeconds seconds;
};

// The report as cli.md states it. Seconds are wall time, memory is in bytes; "settings" are the first
// picture's.
nlohmann::ordered_json ReportJson(const GenerateTask& task, const RunReport& report,
                                  const MemoryLedger& ledger);

// The cache's peak beside the full cache's, in one line; empty if it is the full cache.
std::string KvText(const std::vector<ScaleReport>& scales);

// The plan as text: memory by account and phase, its peak, and seconds from a short matrix timing.
StatusOr<std::string> PlanText(const GenerateTask& task);

}  // namespace nextscale
