// `nextscale generate`: prompts to pictures. Everything that can be wrong with a call is found out before the
// first weight is loaded.
#include <fmt/format.h>

#include <optional>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/generate_flags.h"
#include "cli/generate_pictures.h"
#include "cli/generate_report.h"
#include "cli/generate_task.h"

namespace nextscale {
namespace {

Status WriteReport(const std::string& path, const GenerateTask& task, const RunReport& report,
                   const MemoryLedger& ledger) {
  if (path.empty()) return absl::OkStatus();
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return WriteFileAtomically(path, ReportJson(task, report, ledger).dump(1, ' ', false, kReplace) + "\n");
}

Status RunGenerate(const GenerateFlags& flags, CommandLine& line) {
  NS_RETURN_IF_ERROR(CheckFlags(flags));
  std::optional<int64_t> limit;
  if (!flags.memory_limit.empty()) {
    NS_ASSIGN_OR_RETURN(limit, ParseBytes(flags.memory_limit, "--memory-limit"));
  }
  Progress progress = line.MakeProgress();
  NS_ASSIGN_OR_RETURN(const GenerateTask task, PrepareTask(flags, progress));
  if (flags.plan) {
    NS_ASSIGN_OR_RETURN(const std::string plan, PlanText(task));
    fmt::print("{}", plan);
  }
  if (limit) NS_RETURN_IF_ERROR(CheckMemory(task.info, task.plan, *limit));
  if (flags.plan) return absl::OkStatus();
  NS_ASSIGN_OR_RETURN(const std::vector<std::string> bits_paths, CheckPlaces(flags, task));

  MemoryLedger ledger;
  const OpContext ops(flags.reference ? Backend::kReference : Backend::kFast, &ledger);
  RunReport report;
  const Status made = MakePictures({.flags = flags,
                                    .task = task,
                                    .bits_paths = bits_paths,
                                    .ops = ops,
                                    .cancel = &line.cancel,
                                    .progress = progress},
                                   report);
  const Status reported = WriteReport(flags.report, task, report, ledger);
  return made.ok() ? reported : made;
}

}  // namespace

void AddGenerate(CommandLine& line) {
  AddCommand<GenerateFlags>(line, "generate", "prompts to pictures", DeclareGenerateFlags, RunGenerate);
}

}  // namespace nextscale
