// The implementations of rope2d.h, behind their checks.
#pragma once

#include <vector>

#include "ops/rope2d.h"

namespace nextscale::rope2d {

// Positions of n rows (or columns) spread over `last`: round(i * last / n), halves to even, in integers.
std::vector<int64_t> NormalizedPositions(int64_t n, int64_t last);

// The row of the table that row r turns by.
inline int64_t PlaceOf(const QkvSplitArgs& args, int64_t r) {
  return args.rows.empty() ? r % args.L : args.rows[r] % args.rope->cos.dim(0);
}

void SplitQkvReference(const QkvSplitArgs& args);
void SplitQkvFast(const QkvSplitArgs& args, const OpContext& ctx);

}  // namespace nextscale::rope2d
