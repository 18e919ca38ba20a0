// Commands whose own files are being written; each line goes when its file comes.
#include "cli/command.h"

namespace nextscale {

void AddBench(CommandLine&) {}

}  // namespace nextscale
