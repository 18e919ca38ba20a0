// Attention: checks, and the choice of the implementation for this machine and dtype.
#include "ops/attention.h"

#include <algorithm>

#include "ops/attention_internal.h"

namespace nextscale {
namespace {

using attention::KeysOf;

void CheckArgs(const AttentionArgs& a) {
  const Shape shape{a.B * a.L, a.H * a.D};
  NS_CHECK(a.q.shape() == shape && a.o.shape() == shape, "q {}, o {}, expected {}", ToString(a.q.shape()),
           ToString(a.o.shape()), ToString(shape));
  NS_CHECK(a.q.dtype() == a.o.dtype(), "q is {}, o {}", Name(a.q.dtype()), Name(a.o.dtype()));
  const bool bf16 = a.q.dtype() == DType::kBF16;
  NS_CHECK(bf16 || a.q.dtype() == DType::kF32, "attention in {}", Name(a.q.dtype()));
  NS_CHECK(a.D > 0 && a.D <= 256 && (!bf16 || a.D % 2 == 0), "head width {} in {}", a.D, Name(a.q.dtype()));
  NS_CHECK(!a.bias_HLS || !bf16, "a bias is for f32 calls");
  const auto heads = static_cast<size_t>(a.B * a.H);
  NS_CHECK(a.cached_BH.empty() || a.cached_BH.size() == heads, "{} cached heads, expected {}",
           a.cached_BH.size(), heads);
  NS_CHECK(a.current_BH.empty() || a.current_BH.size() == heads, "{} current heads, expected {}",
           a.current_BH.size(), heads);
  for (size_t i = 0; a.bias_HLS && i < heads; ++i) {
    NS_CHECK(KeysOf(a, i).total() == KeysOf(a, 0).total(),
             "a bias needs heads of one length, {} has {} keys, 0 has {}", i, KeysOf(a, i).total(),
             KeysOf(a, 0).total());
  }
}

double Flop(const AttentionArgs& a) {
  int64_t lengths = 0;
  for (int64_t i = 0; i < a.B * a.H; ++i) lengths += KeysOf(a, i).total();
  return 4.0 * a.L * a.D * lengths;
}

}  // namespace

attention::Keys attention::KeysOf(const AttentionArgs& args, int64_t stream_head) {
  Keys keys;
  const std::span<const HeadKv> segments[2] = {args.cached_BH, args.current_BH};
  for (int i = 0; i < 2; ++i) {
    if (segments[i].empty()) continue;
    const HeadKv& head = segments[i][stream_head];
    NS_CHECK(head.length >= 0 && (head.length == 0 || (head.k && head.v)), "{} keys without rows",
             head.length);
    keys.k[i] = head.k;
    keys.v[i] = head.v;
    keys.length[i] = head.length;
  }
  return keys;
}

attention::QueryBlock attention::QueryBlockOf(const AttentionArgs& a, int64_t stream_head, int64_t index,
                                              int64_t max_queries) {
  const int64_t b = stream_head / a.H, h = stream_head % a.H, q0 = index * max_queries;
  const int64_t stride = a.H * a.D;
  const int64_t at = ((b * a.L + q0) * stride + h * a.D) * static_cast<int64_t>(SizeOf(a.q.dtype()));
  QueryBlock block;
  block.keys = KeysOf(a, stream_head);
  block.q = a.q.raw() + at;
  block.o = a.o.raw() + at;
  block.stride = stride;
  block.queries = std::min(max_queries, a.L - q0);
  block.D = a.D;
  block.scale = a.scale;
  if (a.bias_HLS) block.bias = a.bias_HLS + (h * a.L + q0) * block.keys.total();
  return block;
}

void Attention(const AttentionArgs& args, const OpContext& ctx) {
  CheckArgs(args);
  if (args.o.elements() == 0) return;
  ProfileScope profile(ctx.profiler, "attention", ctx.profiler ? Flop(args) : 0);
  if (ctx.backend == Backend::kReference) return attention::Reference(args);
  if (args.q.dtype() == DType::kF32 || !HasFastBf16(ctx.isa)) return attention::InF32(args, ctx);
  const bool tiles = ctx.isa >= Isa::kAmxBf16 && RequestAmxPermission();
  attention::InBf16(args, ctx, tiles ? attention::AmxKernel() : attention::Avx512Bf16Kernel());
}

int64_t AttentionScratchBytes(int64_t heads, int64_t S, int64_t D, DType dtype, Isa isa, int threads) {
  constexpr int64_t kPerThread = int64_t{1} << 20;  // what a query block needs, rounded up
  const bool packs = dtype == DType::kBF16 && HasFastBf16(isa);
  return threads * kPerThread + (packs ? attention::PackedValueBytes(heads, S, D, threads) : 0);
}

}  // namespace nextscale
