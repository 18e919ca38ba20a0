// Runs a case of each kind and shows what comes out to a ParityCheck.
#pragma once

#include "base/cancel.h"
#include "cli/parity_case.h"
#include "cli/parity_check.h"
#include "ops/context.h"
#include "tensor/dtype.h"

namespace nextscale {

struct ParityRun {
  const ParityCase& request;
  DType type;  // of the arithmetic of all parts
  ParityCheck& check;
  const OpContext& ops;
  const CancelToken* cancel;  // may be null
};

// Prompts -> tokens and text rows; relative buckets.
Status RunTextCase(const ParityRun& run);
// Picture -> features -> bits by scale -> picture.
Status RunEncodeCase(const ParityRun& run);
// Prompts -> picture, with the recorded draws. In bf16 the expected bits go on to the next scale, so that
// each scale is judged by itself.
Status RunGenerateCase(const ParityRun& run);
// Prompts -> attention statistics, with the recorded draws -> Z, drafters, budgets. In bf16 the expected bits
// go on, as above.
Status RunCalibrateCase(const ParityRun& run);

}  // namespace nextscale
