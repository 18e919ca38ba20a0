// Ctrl-C: the first asks the work to stop within a layer, the second ends the process at once.
#pragma once

#include "base/cancel.h"

namespace nextscale {

CancelToken& InterruptToken();
void InstallInterruptHandler();

}  // namespace nextscale
