// Commands that the contract names and this version does not have.
#include "cli/command.h"

namespace nextscale {

void AddNotYet(CommandLine& line) {
  for (const char* name : {"serve"}) {
    CLI::App* command = line.app.add_subcommand(name, "not in this version yet");
    command->fallthrough(false)->allow_extras();  // whatever follows is not looked at
    command->callback(
        [&line, name] { line.action = [name] { return NotYet(std::string("`nextscale ") + name + "`"); }; });
  }
}

}  // namespace nextscale
