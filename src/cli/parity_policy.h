// A case's cache policy as the engine's options.
#pragma once

#include "cli/parity_case.h"
#include "kv/kv_options.h"

namespace nextscale {

// `depth`: blocks of the case's transformer. Errors: FileError for a policy or a budget file of another form.
StatusOr<KvOptions> PolicyOfCase(const ParityCase& request, int64_t depth);

}  // namespace nextscale
