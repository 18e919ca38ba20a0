// The program's frame: flags are parsed here, errors printed and turned into exit statuses.
#include "cli/command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "base/threads.h"
#include "cli/interrupt.h"
#include "cli/version.h"

namespace nextscale {
namespace {

int Report(const Status& status) {
  if (!status.ok()) std::fputs(ErrorText(status).c_str(), stderr);
  return ExitCode(status);
}

Status NoOutput(const std::string& why) {
  return WorkError("cannot write to standard output", why, "free some space, or send it elsewhere");
}

Status RunAction(CommandLine& line) {
  if (line.threads > 0) SetMaxThreads(line.threads);
  InstallInterruptHandler();
  try {
    NS_RETURN_IF_ERROR(line.action());
    return std::fflush(stdout) == 0 ? absl::OkStatus() : NoOutput(std::strerror(errno));
  } catch (const std::system_error& e) {  // of fmt::print
    return NoOutput(e.code().message());
  } catch (const std::bad_alloc&) {
    return WorkError("not enough memory", "an allocation failed",
                     "a smaller --batch or --pixels; --plan says what is needed");
  }
}

// The command whose help to point to.
std::string CalledCommand(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) return "nextscale " + command->get_name();
  return "nextscale";
}

}  // namespace

void DeclareCommandLine(CommandLine& line) {
  CLI::App& app = line.app;
  app.fallthrough();  // global flags may stand after the command too
  app.add_flag("--quiet", line.quiet, "no progress, no notices: errors only");
  app.add_flag("--log-json", line.log_json, "progress and notices as one JSON object a line");
  app.add_option("--threads", line.threads, "threads (default: the processors this process may use)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.set_version_flag("--version", [] { return VersionText(); });
  app.require_subcommand(0, 1);
  AddGenerate(line);
  AddInspect(line);
  AddConvert(line);
  AddTokenize(line);
  AddReconstruct(line);
  AddMetadata(line);
  AddCalibrate(line);
  AddEval(line);
  AddBench(line);
  AddParity(line);
  AddNotYet(line);
  AddCompletion(line);
  app.footer(
      "Example: nextscale generate -p \"red apple, fluent 3d style\" -o apple.png\n"
      "`nextscale COMMAND --help` tells each command's flags.");
}

int RunCommandLine(int argc, const char* const* argv) {
  CLI::App app("nextscale: pictures from text by next-scale prediction (Infinity), on the CPU", "nextscale");
  CommandLine line{.app = app, .cancel = InterruptToken()};
  DeclareCommandLine(line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::Error& e) {
    return Report(CallError(e.what(), "", CalledCommand(app) + " --help"));
  }
  if (!line.action) {
    if (argc > 1) return Report(CallError("no command was named", "", "nextscale --help"));
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  return Report(RunAction(line));
}

}  // namespace nextscale
