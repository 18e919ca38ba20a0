// Checks and dispatch of the elementwise ops.
#include "ops/activation.h"

#include "ops/activation_internal.h"
#include "ops/elements.h"

namespace nextscale {
namespace {

void CheckF32(ConstView a, ConstView b) {
  NS_CHECK(a.shape() == b.shape(), "{} and {}", ToString(a.shape()), ToString(b.shape()));
  NS_CHECK(a.dtype() == DType::kF32 && b.dtype() == DType::kF32, "{} and {}", Name(a.dtype()),
           Name(b.dtype()));
}

void RunGated(const activation::Gated& args, const OpContext& ctx) {
  const DType type = args.gate.dtype();
  NS_CHECK(args.gate.shape() == args.y.shape() && type == args.y.dtype() && IsF32OrBf16(type),
           "{} {} to {} {}", Name(type), ToString(args.gate.shape()), Name(args.y.dtype()),
           ToString(args.y.shape()));
  NS_CHECK(!args.x.raw() || (args.x.shape() == args.y.shape() && args.x.dtype() == type),
           "{} {} gated by {} {}", Name(args.x.dtype()), ToString(args.x.shape()), Name(type),
           ToString(args.gate.shape()));
  const ProfileScope scope(ctx.profiler, "activation");
  ctx.backend == Backend::kReference ? activation::GatedReference(args) : activation::GatedFast(args);
}

}  // namespace

void SiluMul(ConstView gate, ConstView x, View y, const OpContext& ctx) {
  RunGated({activation::Function::kSilu, gate, x, y}, ctx);
}

void GeluMul(ConstView gate, ConstView x, View y, const OpContext& ctx) {
  RunGated({activation::Function::kGelu, gate, x, y}, ctx);
}

void Silu(ConstView x, View y, const OpContext& ctx) {
  RunGated({activation::Function::kSilu, x, ConstView(), y}, ctx);
}

void AddRow(View x, const float* row, const OpContext& ctx) {
  NS_CHECK(x.shape().rank() == 2 && x.dtype() == DType::kF32 && row, "{} {}", Name(x.dtype()),
           ToString(x.shape()));
  const ProfileScope scope(ctx.profiler, "add");
  ctx.backend == Backend::kReference ? activation::AddRowReference(x, row) : activation::AddRowFast(x, row);
}

void AddInPlace(View x, ConstView y, const OpContext& ctx) {
  CheckF32(x, y);
  const ProfileScope scope(ctx.profiler, "add");
  ctx.backend == Backend::kReference ? activation::AddInPlaceReference(x, y)
                                     : activation::AddInPlaceFast(x, y);
}

void MixInPlace(View a, View b, float m, const OpContext& ctx) {
  CheckF32(a, b);
  const ProfileScope scope(ctx.profiler, "mix");
  ctx.backend == Backend::kReference ? activation::MixInPlaceReference(a, b, m)
                                     : activation::MixInPlaceFast(a, b, m);
}

void Cast(ConstView from, View to, const OpContext& ctx) {
  NS_CHECK(from.shape() == to.shape(), "{} to {}", ToString(from.shape()), ToString(to.shape()));
  NS_CHECK(IsF32OrBf16(from.dtype()) && IsF32OrBf16(to.dtype()), "{} to {}", Name(from.dtype()),
           Name(to.dtype()));
  const ProfileScope scope(ctx.profiler, "cast");
  ctx.backend == Backend::kReference ? activation::CastReference(from, to) : activation::CastFast(from, to);
}

}  // namespace nextscale
