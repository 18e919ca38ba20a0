// What conv2d_*.cc share.
#pragma once

#include "ops/conv2d.h"

namespace nextscale {

// Where output (y, x) of a convolution looks: input rows y * stride - pad ..., in the coordinates of the
// doubled map if upsampled.
struct ConvGeometry {
  int64_t stride, pad;
  int64_t doubled;  // 1 if the input's pixels are doubled
};
inline ConvGeometry GeometryOf(ConvKind kind) {
  switch (kind) {
    case ConvKind::k1x1:
      return {1, 0, 0};
    case ConvKind::k3x3:
      return {1, 1, 0};
    case ConvKind::k3x3Down:
      return {2, 0, 0};
    case ConvKind::k3x3Upsampled:
      return {1, 1, 1};
  }
  return {1, 0, 0};
}

void Conv2dReference(const Conv2dWeights& weights, const Conv2dArgs& args, const OpContext& ctx);
void Conv2dCpu(const Conv2dWeights& weights, const Conv2dArgs& args, const OpContext& ctx);
int64_t TilesCpu(const Conv2dShape& shape, MapSize out_size);
int64_t MostTilesCpu(MapSize out_size);

// The type that the fast convolution multiplies in.
inline DType OperandType(DType dtype, Isa isa) {
  return dtype == DType::kBF16 && HasFastBf16(isa) ? DType::kBF16 : DType::kF32;
}

std::shared_ptr<const Conv2dWeights::Packed> PackCpu(const Conv2dShape& shape, DType operand,
                                                     std::span<const float> kernel_OIHW, MemoryUse use);
int64_t BytesOf(const Conv2dWeights::Packed& packed);

}  // namespace nextscale
