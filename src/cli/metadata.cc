// `nextscale metadata`: the settings stored in a picture.
#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/picture_settings.h"

namespace nextscale {
namespace {

struct MetadataFlags {
  std::string picture;
  bool json = false, command = false;
};

Status RunMetadata(const MetadataFlags& flags, CommandLine&) {
  NS_ASSIGN_OR_RETURN(const ImageText text, ReadImageText(flags.picture));
  const bool whole = flags.json || flags.command;
  const auto it = text.find(whole ? "nextscale" : "parameters");
  if (it == text.end())
    return FileError(fmt::format("{} carries no settings of nextscale", flags.picture),
                     "it was not made by it, or without them, or another program removed them");
  std::string out = it->second;
  if (flags.command) {
    NS_ASSIGN_OR_RETURN(out, SettingsCommand(it->second));
  }
  fmt::print("{}\n", out);
  return absl::OkStatus();
}

}  // namespace

void AddMetadata(CommandLine& line) {
  AddCommand<MetadataFlags>(
      line, "metadata", "the settings stored in a picture",
      [](CLI::App& c, MetadataFlags& f) {
        c.add_option("picture", f.picture, "PNG, JPEG or WebP")->required();
        auto* json = c.add_flag("--json", f.json, "all of them, as JSON");
        c.add_flag("--command", f.command, "the command that makes the picture again")->excludes(json);
        c.footer("Example: nextscale metadata apple.png --command");
      },
      RunMetadata);
}

}  // namespace nextscale
