// The implementations of token_deviation.h, behind its checks.
#pragma once

#include "ops/token_deviation.h"

namespace nextscale::token_deviation {

void Reference(ConstView x, int64_t rows_per_stream, std::span<float> scores);
void Fast(ConstView x, int64_t rows_per_stream, std::span<float> scores, const OpContext& ctx);

}  // namespace nextscale::token_deviation
