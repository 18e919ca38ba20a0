// The implementations of norm.h and ada_norm.h, behind their checks.
#pragma once

#include "ops/ada_norm.h"
#include "ops/norm.h"

namespace nextscale::norm {

void CheckRows(ConstView x, View y, std::span<const int32_t> rows);
// Which row of x row r of y is of.
inline int64_t RowOf(std::span<const int32_t> rows, int64_t r) { return rows.empty() ? r : rows[r]; }

// Of a row of x, for the references: its mean and 1 / sqrt(variance + eps), sums in f64.
struct RowMoments {
  double mean, inverse;
  bool finite;  // the variance, as f32
};
RowMoments MomentsOf(const float* row, int64_t C, double eps);

bool LayerNormReference(const LayerNormArgs& args);
bool LayerNormFast(const LayerNormArgs& args);
bool RmsNormReference(ConstView x, View y, const float* weight, float eps);
bool RmsNormFast(ConstView x, View y, const float* weight, float eps);
bool AdaNormReference(const AdaNormArgs& args);
bool AdaNormFast(const AdaNormArgs& args);

}  // namespace nextscale::norm
