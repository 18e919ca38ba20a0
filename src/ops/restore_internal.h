// The implementations of restore.h, behind its checks.
#pragma once

#include "ops/restore.h"

namespace nextscale::restore {

// The stored tokens that are averaged for place i of `out` on an axis of `in`: [begin, end).
struct Span {
  int64_t begin, end;
};
inline Span AreaSpan(int64_t i, int64_t in, int64_t out) {
  return {i * in / out, ((i + 1) * in + out - 1) / out};
}

void Reference(const RestoreArgs& args);
void Fast(const RestoreArgs& args);

}  // namespace nextscale::restore
