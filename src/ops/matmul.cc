// Checks of matmul.h and the choice between the twin and the fast path.
#include "ops/matmul.h"

#include <cstring>

#include "ops/elements.h"
#include "ops/matmul_internal.h"

namespace nextscale {
namespace {

size_t PackedBytes(int64_t N, int64_t K, DType dtype, Backend backend) {
  return backend == Backend::kReference ? static_cast<size_t>(N * K) * SizeOf(dtype)
                                        : static_cast<size_t>(matmul::PackedBytesFast(N, K, dtype));
}

void CheckLinear(const LinearWeights& weights, const LinearArgs& args) {
  const int64_t rows = args.x.dim(0), L = args.rows_per_stream;
  NS_CHECK(!weights.empty(), "linear layer without weights");
  NS_CHECK(args.x.shape() == Shape({rows, weights.K()}), "x is {}, W is [{}, {}]", ToString(args.x.shape()),
           weights.N(), weights.K());
  NS_CHECK(args.y.shape() == Shape({rows, weights.N()}), "y is {}, x is {}, W is [{}, {}]",
           ToString(args.y.shape()), ToString(args.x.shape()), weights.N(), weights.K());
  NS_CHECK(args.x.dtype() == weights.dtype(), "x in {}, W in {}", Name(args.x.dtype()),
           Name(weights.dtype()));
  NS_CHECK(IsF32OrBf16(args.y.dtype()), "y in {}", Name(args.y.dtype()));
  NS_CHECK(L > 0 && rows % L == 0, "{} rows in streams of {}", rows, L);
  NS_CHECK(!args.accumulate || args.y.dtype() == DType::kF32, "accumulating into {}", Name(args.y.dtype()));
}

}  // namespace

StatusOr<LinearWeights> LinearWeights::Pack(int64_t N, int64_t K, DType dtype, const RowReader& read,
                                            std::span<const float> bias, const OpContext& ctx,
                                            Account account) {
  NS_CHECK(N > 0 && K > 0 && IsF32OrBf16(dtype), "weights [{}, {}] in {}", N, K, Name(dtype));
  LinearWeights weights;
  weights.N_ = N;
  weights.K_ = K;
  weights.dtype_ = dtype;
  weights.backend_ = ctx.backend;
  const MemoryUse use = {ctx.ledger, account};
  weights.packed_ = Tensor(DType::kU8, {static_cast<int64_t>(PackedBytes(N, K, dtype, ctx.backend))}, use);
  if (!bias.empty()) weights.bias_ = Tensor(DType::kF32, {N}, use);
  NS_RETURN_IF_ERROR(weights.Repack(read, bias, ctx));
  return weights;
}

Status LinearWeights::Repack(const RowReader& read, std::span<const float> bias, const OpContext& ctx) {
  NS_CHECK(!empty() && backend_ == ctx.backend, "weights packed for another backend");
  NS_CHECK(static_cast<int64_t>(bias.size()) == (bias_.empty() ? 0 : N_), "bias of {} for {} rows",
           bias.size(), N_);
  if (!bias.empty()) std::memcpy(bias_.data<float>(), bias.data(), bias.size_bytes());
  std::byte* packed = packed_.view().raw();
  return backend_ == Backend::kReference ? matmul::PackReference(N_, K_, dtype_, read, packed)
                                         : matmul::PackFast(N_, K_, dtype_, read, packed, ctx);
}

int64_t PackedLinearBytes(int64_t N, int64_t K, DType dtype, bool bias) {
  return matmul::PackedBytesFast(N, K, dtype) + (bias ? N * static_cast<int64_t>(sizeof(float)) : 0);
}

void Linear(const LinearWeights& weights, const LinearArgs& args, const OpContext& ctx) {
  CheckLinear(weights, args);
  const int64_t rows = args.x.dim(0);
  const ProfileScope profile(
      ctx.profiler, "linear",
      2.0 * static_cast<double>(rows) * static_cast<double>(weights.N() * weights.K()));
  if (weights.backend() == Backend::kReference) {
    matmul::LinearReference(weights, args);
  } else {
    matmul::LinearFast(weights, args, ctx);
  }
}

}  // namespace nextscale
