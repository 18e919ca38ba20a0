// nextscale parity: runs case folders of golden form and tells each stage's largest difference.
#include <fmt/format.h>

#include <cstdio>

#include "checkpoint/safetensors.h"
#include "cli/command.h"
#include "cli/parity_run.h"

namespace nextscale {
namespace {

struct ParityFlags {
  std::vector<std::string> paths;
  std::string type = "f32";
  bool reference = false, verbose = false;
};

struct Tally {
  int passed = 0, failed = 0;
};

StatusOr<std::shared_ptr<const TensorSource>> OpenExpected(const ParityCase& c) {
  NS_ASSIGN_OR_RETURN(StoredFile file, ReadSafetensors(c.ExpectedPath()));
  return StoredTensors::Create(c.ExpectedPath(), std::move(file.tensors));
}

Status RunKind(const ParityRun& run) {
  if (run.request.kind == "text") return RunTextCase(run);
  if (run.request.kind == "encode") return RunEncodeCase(run);
  return run.request.kind == "calibrate" ? RunCalibrateCase(run) : RunGenerateCase(run);
}

// Prints the case's report. -> whether it passed. Errors: of running it, printed stages first.
StatusOr<bool> RunCase(const ParityCase& c, const ParityFlags& flags, const CancelToken& cancel) {
  NS_ASSIGN_OR_RETURN(std::shared_ptr<const TensorSource> expected, OpenExpected(c));
  const DType type = flags.type == "bf16" ? DType::kBF16 : DType::kF32;
  ParityCheck check(std::move(expected), c, type == DType::kBF16);
  const OpContext ops(flags.reference ? Backend::kReference : Backend::kFast);
  const Status status = RunKind({.request = c, .type = type, .check = check, .ops = ops, .cancel = &cancel});
  const bool passed = check.Finish() && status.ok();
  fmt::print("{}  {}\n{}", c.name, passed ? "ok" : "FAILED", check.Report(flags.verbose));
  std::fflush(stdout);
  if (!status.ok()) return status;
  return passed;
}

Status RunOne(const std::string& folder, bool only_one, const ParityFlags& flags, const CancelToken& cancel,
              Tally& tally) {
  NS_ASSIGN_OR_RETURN(const ParityCase c, ReadParityCase(folder));
  const StatusOr<bool> passed = RunCase(c, flags, cancel);
  if (passed.status().code() == absl::StatusCode::kCancelled || (only_one && !passed.ok()))
    return passed.status();
  if (!passed.ok()) std::fputs(ErrorText(passed.status()).c_str(), stderr);
  ++(passed.ok() && *passed ? tally.passed : tally.failed);
  return absl::OkStatus();
}

Status RunParity(const ParityFlags& flags, CommandLine& line) {
  std::vector<std::string> folders;
  for (const std::string& path : flags.paths) {
    NS_ASSIGN_OR_RETURN(const std::vector<std::string> found, FindParityCases(path));
    folders.insert(folders.end(), found.begin(), found.end());
  }
  const bool only_one = folders.size() == 1;
  Tally tally;
  for (const std::string& folder : folders) {
    NS_RETURN_IF_ERROR(RunOne(folder, only_one, flags, line.cancel, tally));
  }
  fmt::print("{} cases: {} ok, {} failed\n", folders.size(), tally.passed, tally.failed);
  if (tally.failed == 0) return absl::OkStatus();
  return WorkError(fmt::format("{} of {} cases are out of tolerance", tally.failed, folders.size()),
                   "the first stage of a case that says FAILED is where to look");
}

}  // namespace

void AddParity(CommandLine& line) {
  AddCommand<ParityFlags>(
      line, "parity", "compare with golden cases, stage by stage",
      [](CLI::App& command, ParityFlags& flags) {
        command
            .add_option("cases", flags.paths,
                        "case folders, or folders of them (request.json, expected.safetensors)")
            ->required();
        command
            .add_option("--type", flags.type,
                        "f32 (default): every bit and index equal; bf16: logits within 1.5% of their range "
                        "and 99% of the bits, each scale "
                        "going on from the expected bits")
            ->check(CLI::IsMember({"f32", "bf16"}));
        command.add_flag("--reference", flags.reference, "the plain scalar form of every op (slow)");
        command.add_flag("--verbose", flags.verbose, "one line a tensor");
        command.footer(
            "Exit status 1 if a case is out of tolerance.\nExample: nextscale parity tests/golden");
      },
      RunParity);
}

}  // namespace nextscale
