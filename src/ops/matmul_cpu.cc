// Linear layers by oneDNN, tile by tile. W is cut into tiles of 256 rows (columns of y), a stream's rows of x
// into tiles of up to 256; each product of two tiles is computed by one thread, into its scratch, and stored
// to y from there. Tiles depend on the layer's shape and the stream's length only, so results don't depend on
// threads or other streams. Threads take the row tiles of one column tile one after the other: it stays in
// their L2 caches, or at least in the L3 cache.
//
// Measured (Zen 5, one core, oneDNN 2.6.3, bf16, against its own 2048^3 product): tiles of 256 x 256 0.97,
// 256 x 128 0.96, 128 x 256 0.94, 128 x 2048 0.88 to 0.94, 64 x 256 0.93, at K of 2048 and 8192 alike.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "ops/matmul_internal.h"
#include "ops/onednn.h"

namespace nextscale::matmul {
namespace {

using onednn::TileProduct;
using onednn::WeightTile;

constexpr int64_t kTileRows = 256;
constexpr int64_t kTileColumns = 256;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// What products are made in: bf16 only where that is fast.
DType OperandType(DType dtype) {
  return dtype == DType::kBF16 && HasFastBf16(EffectiveIsa()) ? DType::kBF16 : DType::kF32;
}

// [0, n) in tiles of one size and a smaller rest.
struct Tiling {
  int64_t n, size, count;
  Tiling(int64_t n, int64_t size) : n(n), size(size), count(CeilDiv(n, size)) {}
  int64_t begin(int64_t tile) const { return tile * size; }
  int64_t length(int64_t tile) const { return std::min(size, n - tile * size); }
  bool is_rest(int64_t tile) const { return length(tile) != size; }
  int64_t rest() const { return length(count - 1); }
};

// As few tiles as possible, of about one size; multiples of 16 rows, for tile registers.
Tiling RowTiling(int64_t L) {
  const int64_t count = CeilDiv(L, kTileRows);
  return {L, std::min(L, CeilDiv(CeilDiv(L, count), 16) * 16)};
}

// W's column tiles in memory: one after another.
struct PackedLayout {
  Tiling columns;
  WeightTile whole, rest;
  PackedLayout(int64_t N, int64_t K, DType dtype)
      : columns(N, std::min(N, kTileColumns)), whole(columns.size, K, OperandType(dtype), dtype) {
    rest = columns.rest() == columns.size ? whole : WeightTile(columns.rest(), K, OperandType(dtype), dtype);
  }
  const WeightTile& tile(int64_t i) const { return columns.is_rest(i) ? rest : whole; }
  size_t offset(int64_t i) const { return static_cast<size_t>(i) * Aligned(whole.bytes()); }
  size_t bytes() const { return offset(columns.count - 1) + Aligned(rest.bytes()); }
};

// One call of Linear.
class TiledProduct {
 public:
  TiledProduct(const LinearWeights& weights, const LinearArgs& args)
      : weights_(weights),
        args_(args),
        operand_(OperandType(weights.dtype())),
        layout_(weights.N(), weights.K(), weights.dtype()),
        rows_(RowTiling(args.rows_per_stream)),
        row_tiles_(args.x.dim(0) / args.rows_per_stream * rows_.count),
        row_tiles_a_task_(std::max<int64_t>(1, kTileRows / rows_.size)),
        tasks_a_column_(CeilDiv(row_tiles_, row_tiles_a_task_)) {
    const bool rest_of_rows = rows_.rest() != rows_.size;
    const bool rest_of_columns = layout_.columns.rest() != layout_.columns.size;
    for (int r = 0; r <= rest_of_rows; ++r) {
      for (int c = 0; c <= rest_of_columns; ++c) {
        products_[r][c] =
            TileProduct(r ? rows_.rest() : rows_.size, c ? layout_.rest : layout_.whole, operand_);
        onednn_bytes_ = std::max(onednn_bytes_, products_[r][c].scratch_bytes());
      }
    }
  }

  // A task is a column tile and some row tiles: several if they are short, to read W once for all of them.
  int64_t tasks() const { return layout_.columns.count * tasks_a_column_; }
  void Run(int64_t task, std::byte* scratch) const;
  size_t scratch_bytes() const {
    return Aligned(sums_bytes()) + Aligned(onednn_bytes_) + Aligned(x_bytes()) + Aligned(w_bytes());
  }

 private:
  void RunTile(int64_t row_tile, int64_t column_tile, const void* w, std::byte* scratch) const;

  bool converts() const { return operand_ != weights_.dtype(); }
  size_t sums_bytes() const { return static_cast<size_t>(rows_.size * layout_.columns.size) * sizeof(float); }
  size_t x_bytes() const {
    return converts() ? static_cast<size_t>(rows_.size * weights_.K()) * sizeof(float) : 0;
  }
  size_t w_bytes() const { return converts() ? layout_.whole.elements() * sizeof(float) : 0; }

  const LinearWeights& weights_;
  const LinearArgs& args_;
  const DType operand_;
  const PackedLayout layout_;
  const Tiling rows_;
  const int64_t row_tiles_, row_tiles_a_task_, tasks_a_column_;
  TileProduct products_[2][2];  // [rest of rows][rest of columns]
  size_t onednn_bytes_ = 0;
};

void TiledProduct::Run(int64_t task, std::byte* scratch) const {
  const int64_t column_tile = task / tasks_a_column_;
  const void* w = weights_.packed().view().raw() + layout_.offset(column_tile);
  if (converts()) {
    ConvertFloats(w, weights_.dtype(), scratch, operand_,
                  static_cast<int64_t>(layout_.tile(column_tile).elements()));
    w = scratch;
    scratch += Aligned(w_bytes());
  }
  const int64_t begin = task % tasks_a_column_ * row_tiles_a_task_;
  const int64_t end = std::min(row_tiles_, begin + row_tiles_a_task_);
  for (int64_t i = begin; i < end; ++i) RunTile(i, column_tile, w, scratch);
}

void TiledProduct::RunTile(int64_t row_tile, int64_t column_tile, const void* w, std::byte* scratch) const {
  const int64_t stream = row_tile / rows_.count, tile = row_tile % rows_.count;
  const int64_t row = stream * args_.rows_per_stream + rows_.begin(tile), rows = rows_.length(tile);
  const int64_t column = layout_.columns.begin(column_tile), K = weights_.K(), N = weights_.N();
  const void* x = args_.x.raw() + row * K * static_cast<int64_t>(SizeOf(args_.x.dtype()));
  if (converts()) {
    ConvertFloats(x, args_.x.dtype(), scratch, operand_, rows * K);
    x = scratch;
    scratch += Aligned(x_bytes());
  }
  float* sums = reinterpret_cast<float*>(scratch);
  products_[rows_.is_rest(tile)][layout_.columns.is_rest(column_tile)].Multiply(
      x, w, sums, scratch + Aligned(sums_bytes()));
  StoreTile({.sums = sums,
             .rows = rows,
             .columns = layout_.columns.length(column_tile),
             .bias = weights_.bias() ? weights_.bias() + column : nullptr,
             .gate = args_.gate_BN ? args_.gate_BN + stream * args_.gate_stride + column : nullptr,
             .activation = args_.activation,
             .accumulate = args_.accumulate,
             .y = args_.y.raw() + (row * N + column) * static_cast<int64_t>(SizeOf(args_.y.dtype())),
             .y_type = args_.y.dtype(),
             .y_stride = N});
}

}  // namespace

int64_t PackedBytesFast(int64_t N, int64_t K, DType dtype) {
  return static_cast<int64_t>(PackedLayout(N, K, dtype).bytes());
}

Status PackFast(int64_t N, int64_t K, DType dtype, const RowReader& read, std::byte* packed,
                const OpContext& ctx) {
  const PackedLayout layout(N, K, dtype);
  const size_t row_bytes = static_cast<size_t>(K) * SizeOf(dtype);
  std::mutex mutex;
  Status status;  // the first error
  std::atomic<bool> failed = false;
  ParallelFor(layout.columns.count, [&](int64_t i, int thread) {
    if (failed) return;
    const int64_t begin = layout.columns.begin(i), n = layout.columns.length(i);
    std::byte* rows = ctx.scratch.ForThread(thread, static_cast<size_t>(n) * row_bytes);
    if (Status result = read(begin, begin + n, dtype, rows); !result.ok()) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) status = std::move(result);
      return;
    }
    layout.tile(i).Pack(rows, packed + layout.offset(i));
  });
  return status;
}

void LinearFast(const LinearWeights& weights, const LinearArgs& args, const OpContext& ctx) {
  if (args.x.dim(0) == 0) return;
  const TiledProduct product(weights, args);
  ParallelFor(product.tasks(), [&](int64_t task, int thread) {
    product.Run(task, ctx.scratch.ForThread(thread, product.scratch_bytes()));
  });
}

}  // namespace nextscale::matmul
