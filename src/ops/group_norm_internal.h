// What group_norm.cc and conv2d_*.cc share.
#pragma once

#include "ops/group_norm.h"

namespace nextscale {

// The scalar twins.
void GroupNormReference(const GroupNormWeights& weights, ConstView x, bool silu, View y);
// Moments by row: part r is row r of x [h, w, C]. Two passes in f64.
void MeasureRowsReference(ConstView x, const ChannelMoments& moments);
void NormPixelsReference(const ChannelAffine& affine, bool silu, ConstView x, View y);

// One thread's work on a run of pixels.
// x [pixels, C] -> y [pixels, C], normalised and swished; f32 or bf16 each.
void NormPixels(const ChannelAffine& affine, bool silu, const void* x, DType x_type, int64_t pixels, void* y,
                DType y_type);
// Mean and sum of squared differences of each channel over `rows` rows of `pixels` pixels, row_stride floats
// apart. Two passes.
struct PixelBlock {
  const float* data;
  int64_t rows, pixels, row_stride, channels;
};
void MeasurePixels(const PixelBlock& block, float* mean, float* m2);
// sum (+)= y; y = sum rounded to its type; sum = y as stored. n elements.
void StorePixels(float* sum, bool accumulate, int64_t n, void* y, DType y_type);

}  // namespace nextscale
