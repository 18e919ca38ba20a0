// What every op is given besides its tensors.
#pragma once

#include "base/profiler.h"
#include "base/threads.h"
#include "ops/isa.h"
#include "tensor/scratch.h"

namespace nextscale {

// kReference runs the plain scalar twin of every op (op_ref.cc): the definition, and the tests' oracle.
enum class Backend { kFast, kReference };

// Shapes used in all op headers: B streams, L rows (tokens) of a stream, S keys, H heads, D head width, C
// width, h w grid. One context serves one caller at a time (its scratch is shared by the ops it calls).
struct OpContext {
  explicit OpContext(Backend backend = Backend::kFast, MemoryLedger* ledger = nullptr,
                     Profiler* profiler = nullptr)
      : backend(backend),
        isa(EffectiveIsa()),
        ledger(ledger),
        profiler(profiler),
        scratch(MaxThreads(), ledger) {}

  Backend backend;
  Isa isa;
  MemoryLedger* ledger;
  Profiler* profiler;
  mutable Scratch scratch;
};

}  // namespace nextscale
