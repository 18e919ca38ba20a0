// Checks and threads of sampling. The plain loops of sample_ref.cc are all there is: a 1M image draws 0.3
// million bits, some milliseconds of work.
#include "ops/sample.h"

#include "ops/chunks.h"
#include "ops/sample_internal.h"

namespace nextscale {
namespace {

constexpr int64_t kBitWork = 64;  // a bit costs about as much as this many elements of a sum

void CheckBits(ConstView logits, ConstView bits) {
  NS_CHECK(bits.shape().rank() == 2 && bits.dtype() == DType::kU8, "bits {} {}", Name(bits.dtype()),
           ToString(bits.shape()));
  NS_CHECK(logits.dtype() == DType::kF32 && logits.dim(0) == bits.dim(0) &&
               logits.elements() == 2 * bits.elements(),
           "logits {} {} to bits {}", Name(logits.dtype()), ToString(logits.shape()), ToString(bits.shape()));
}

}  // namespace

void GuideLogits(ConstView cond, ConstView uncond, float cfg, float tau, View out, const OpContext& ctx) {
  NS_CHECK(cond.shape() == out.shape() && cond.dtype() == DType::kF32 && out.dtype() == DType::kF32,
           "{} {} to {} {}", Name(cond.dtype()), ToString(cond.shape()), Name(out.dtype()),
           ToString(out.shape()));
  NS_CHECK(!uncond.raw() || (uncond.shape() == cond.shape() && uncond.dtype() == DType::kF32),
           "uncond {} {}, cond {}", Name(uncond.dtype()), ToString(uncond.shape()), ToString(cond.shape()));
  const ProfileScope scope(ctx.profiler, "sample");
  if (ctx.backend == Backend::kReference)
    return sample::GuideElements(cond, uncond, cfg, tau, out, 0, out.elements());
  ForRowChunks(out.elements(), 1, [&](int64_t begin, int64_t end, int) {
    sample::GuideElements(cond, uncond, cfg, tau, out, begin, end);
  });
}

void SamplePhilox(const SampleArgs& args, const OpContext& ctx) {
  CheckBits(args.logits, args.bits);
  NS_CHECK(args.map.tokens() == args.bits.dim(0), "map {}x{}, bits {}", args.map.h, args.map.w,
           ToString(args.bits.shape()));
  const ProfileScope scope(ctx.profiler, "sample");
  if (ctx.backend == Backend::kReference) return sample::PhiloxTokens(args, 0, args.bits.dim(0));
  ForRowChunks(args.bits.dim(0), args.bits.dim(1) * kBitWork,
               [&](int64_t begin, int64_t end, int) { sample::PhiloxTokens(args, begin, end); });
}

void SampleExponential(ConstView logits, ConstView draws, double top_p, int top_k, View bits,
                       const OpContext& ctx) {
  CheckBits(logits, bits);
  CheckBits(draws, bits);
  const ProfileScope scope(ctx.profiler, "sample");
  const sample::ExponentialArgs args{logits, draws, top_p, top_k, bits};
  if (ctx.backend == Backend::kReference) return sample::ExponentialTokens(args, 0, bits.dim(0));
  ForRowChunks(bits.dim(0), bits.dim(1) * kBitWork,
               [&](int64_t begin, int64_t end, int) { sample::ExponentialTokens(args, begin, end); });
}

}  // namespace nextscale
