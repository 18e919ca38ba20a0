// What matmul_*.cc share.
#pragma once

#include "ops/matmul.h"

namespace nextscale::matmul {

// The scalar twin keeps W as it came, [N, K].
Status PackReference(int64_t N, int64_t K, DType dtype, const RowReader& read, std::byte* packed);
void LinearReference(const LinearWeights& weights, const LinearArgs& args);

int64_t PackedBytesFast(int64_t N, int64_t K, DType dtype);
Status PackFast(int64_t N, int64_t K, DType dtype, const RowReader& read, std::byte* packed,
                const OpContext& ctx);
void LinearFast(const LinearWeights& weights, const LinearArgs& args, const OpContext& ctx);

// What happens to a tile's sums, [rows, columns] dense, on their way to y: bias, activation, gate, y's old
// value.
struct TileStore {
  const float* sums = nullptr;
  int64_t rows = 0, columns = 0;
  const float* bias = nullptr;  // [columns], or null
  const float* gate = nullptr;  // [columns], or null
  Activation activation = Activation::kNone;
  bool accumulate = false;
  std::byte* y = nullptr;  // the tile's first element
  DType y_type = DType::kF32;
  int64_t y_stride = 0;  // elements
};
void StoreTile(const TileStore& tile);

}  // namespace nextscale::matmul
