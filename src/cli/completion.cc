// `nextscale completion bash|zsh`: prints a script for the shell, made from the commands' own declarations.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/command.h"

namespace nextscale {
namespace {

struct CompletionFlags {
  std::string shell;
};

std::string Joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string Script(const CLI::App& root, bool zsh) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
    std::vector<std::string> flags = FlagsOf(*command);
    for (const std::string& flag : FlagsOf(root)) {
      if (flag != "--help") flags.push_back(flag);  // every command has its own
    }
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), Joined(flags));
  }
  // zsh runs bash's completion functions after bashcompinit.
  const std::string prologue = zsh ? "#compdef nextscale\nautoload -U +X bashcompinit && bashcompinit\n" : "";
  return prologue +
         "_nextscale() {\n  local word=${COMP_WORDS[COMP_CWORD]} words\n  case ${COMP_WORDS[1]} in\n" +
         cases + fmt::format("    *) words='{} {}' ;;\n", Joined(commands), Joined(FlagsOf(root))) +
         "  esac\n  [ \"$COMP_CWORD\" = 1 ] && words='" + Joined(commands) + " " + Joined(FlagsOf(root)) +
         "'\n  COMPREPLY=()\n  case $word in -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
         "    *) [ \"$COMP_CWORD\" = 1 ] && COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n  esac\n}\n"
         "complete -o default -F _nextscale nextscale\n";
}

}  // namespace

void AddCompletion(CommandLine& line) {
  AddCommand<CompletionFlags>(
      line, "completion", "prints a completion script for a shell",
      [](CLI::App& c, CompletionFlags& f) {
        c.add_option("shell", f.shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
        c.footer("Example: source <(nextscale completion bash)");
      },
      [](const CompletionFlags& flags, const CommandLine& called) -> Status {
        fmt::print("{}", Script(called.app, flags.shell == "zsh"));
        return absl::OkStatus();
      });
}

}  // namespace nextscale
