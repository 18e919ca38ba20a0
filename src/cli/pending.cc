// Commands whose own files are being written; each line goes when its file comes.
#include "cli/command.h"

namespace nextscale {

void AddConvert(CommandLine&) {}
void AddBench(CommandLine&) {}
void AddTokenize(CommandLine&) {}
void AddReconstruct(CommandLine&) {}

}  // namespace nextscale
