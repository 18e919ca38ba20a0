// Linear layers: y = epilogue(x W^T + b), with W packed once for this machine's matrix instructions.
#pragma once

#include <functional>
#include <span>

#include "base/status.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace nextscale {

// Writes rows [begin, end) of W, [end - begin, K] in the dtype asked for, to dst. Called from several
// threads.
using RowReader = std::function<Status(int64_t begin, int64_t end, DType dtype, void* dst)>;

// W [N, K] and an optional bias [N], ready for Linear. Const after packing.
class LinearWeights {
 public:
  LinearWeights() = default;
  // `dtype` kF32 or kBF16: how the weights are kept. Reads each row once, tile by tile, on all threads; never
  // holds a second copy. `bias` is empty or N floats. Errors: those of `read`.
  static StatusOr<LinearWeights> Pack(int64_t N, int64_t K, DType dtype, const RowReader& read,
                                      std::span<const float> bias, const OpContext& ctx,
                                      Account account = Account::kWeights);
  // Packs other weights of the same shape and dtype into the memory this one holds (for weights that stream
  // through).
  Status Repack(const RowReader& read, std::span<const float> bias, const OpContext& ctx);

  int64_t N() const { return N_; }
  int64_t K() const { return K_; }
  DType dtype() const { return dtype_; }
  size_t bytes() const { return packed_.bytes() + bias_.bytes(); }
  bool empty() const { return N_ == 0; }
  // How Pack laid the weights out; for matmul_*.cc only.
  const Tensor& packed() const { return packed_; }
  const float* bias() const { return bias_.empty() ? nullptr : bias_.data<float>(); }
  Backend backend() const { return backend_; }

 private:
  int64_t N_ = 0, K_ = 0;
  DType dtype_ = DType::kF32;
  Backend backend_ = Backend::kFast;
  Tensor packed_;
  Tensor bias_;
};

// Bytes that LinearWeights of this shape will hold, for plans.
int64_t PackedLinearBytes(int64_t N, int64_t K, DType dtype, bool bias);

enum class Activation { kNone, kGeluTanh, kSilu };

struct LinearArgs {
  ConstView x;  // [B*L, K], dtype of the weights
  View y;       // [B*L, N], f32 or bf16; may not overlap x
  int64_t rows_per_stream =
      0;  // L: row tiles never cross a stream, so a stream's result doesn't depend on the others
  Activation activation = Activation::kNone;
  const float* gate_BN = nullptr;  // null, or [B, N]: y = gate * (...)
  int64_t gate_stride = 0;  // floats from one stream's gate to the next; 0: the same gate for all streams
  bool accumulate = false;  // y += instead of y =; y is f32
};

// y[r, n] (+)= gate[stream(r), n] * activation(sum_k x[r, k] W[n, k] + bias[n]); sums in f32, rounded once at
// the end. The same bits for any number of threads and streams: rows are cut into fixed tiles of one stream,
// each computed by one thread.
void Linear(const LinearWeights& weights, const LinearArgs& args, const OpContext& ctx);

}  // namespace nextscale
