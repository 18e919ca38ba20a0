// nextscale inspect: what a checkpoint is.
#include <fmt/format.h>

#include "base/threads.h"
#include "cli/command.h"
#include "cli/inspect_model.h"
#include "cli/model_flags.h"

namespace nextscale {
namespace {

struct InspectFlags {
  ModelFlags model;
  std::string path;
  bool json = false;
};

Status RunInspect(InspectFlags flags, CommandLine& line) {
  if (!flags.path.empty()) {
    if (!flags.model.model.empty())
      return CallError("two models are named", flags.path + " and " + flags.model.model, "leave one out");
    flags.model.model = flags.path;
  }
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenFlaggedModel(flags.model));
  NS_ASSIGN_OR_RETURN(const nlohmann::ordered_json description, DescribeModel(files, MaxThreads()));
  fmt::print("{}", flags.json ? description.dump(2) + "\n" : DescriptionText(description));
  return absl::OkStatus();
}

}  // namespace

void AddInspect(CommandLine& line) {
  AddCommand<InspectFlags>(
      line, "inspect", "what a checkpoint is: parts, sizes, types, what it pairs with, memory",
      [](CLI::App& command, InspectFlags& flags) {
        command.add_option(
            "path", flags.path,
            "a package, a folder with published files, or one part (default: the bundled model)");
        AddModelFlags(command, flags.model);
        command.add_flag("--json", flags.json, "as JSON; sizes in bytes");
        command.footer("Example: nextscale inspect infinity_2b_reg.pth --json");
      },
      RunInspect);
}

}  // namespace nextscale
