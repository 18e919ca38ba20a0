// How commands plug into the program: each is one file with one Add function, which declares its flags and
// sets what will run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "base/status.h"
#include "cli/progress.h"

namespace nextscale {

// What all commands share. Lives as long as the program runs.
struct CommandLine {
  CLI::App& app;
  CancelToken& cancel;  // set by Ctrl-C
  bool quiet = false;
  bool log_json = false;
  int threads = 0;  // 0: as many as the processors this process may use; set before `action` runs
  std::function<Status()> action;  // of the command that was called

  Progress MakeProgress() const { return Progress(Progress::FormFor(quiet, log_json), stderr); }
};

// Declares a command whose flags are bound to `flags`; `run` is called with them if it is the one. `Flags` is
// any struct with defaults; declare(CLI::App&, Flags&); run(const Flags&, CommandLine&) -> Status.
template <typename Flags, typename Declare, typename Run>
void AddCommand(CommandLine& line, const std::string& name, const std::string& what, Declare declare,
                Run run) {
  CLI::App* command = line.app.add_subcommand(name, what);
  auto flags = std::make_shared<Flags>();
  declare(*command, *flags);
  command->callback([&line, flags, run] { line.action = [&line, flags, run] { return run(*flags, line); }; });
}

void AddGenerate(CommandLine& line);
void AddInspect(CommandLine& line);
void AddConvert(CommandLine& line);
void AddEval(CommandLine& line);
void AddParity(CommandLine& line);
void AddBench(CommandLine& line);
void AddMetadata(CommandLine& line);
void AddTokenize(CommandLine& line);
void AddReconstruct(CommandLine& line);
void AddCalibrate(CommandLine& line);
void AddCompletion(CommandLine& line);
void AddNotYet(CommandLine& line);  // serve

// The global flags and all commands.
void DeclareCommandLine(CommandLine& line);

// The whole program. -> exit status.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace nextscale
