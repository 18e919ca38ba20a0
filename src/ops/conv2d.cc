// Checks and dispatch of the convolutions.
#include "ops/conv2d.h"

#include <algorithm>
#include <vector>

#include "ops/conv2d_internal.h"

namespace nextscale {
namespace {

std::vector<float> RoundedTo(DType dtype, std::span<const float> values) {
  std::vector<float> rounded(values.begin(), values.end());
  if (dtype == DType::kBF16) {
    for (float& v : rounded) v = static_cast<float>(bf16_t(v));
  }
  return rounded;
}

Tensor CopyOf(std::span<const float> values, MemoryUse use) {
  Tensor tensor(DType::kF32, {static_cast<int64_t>(values.size())}, use);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

double Flop(const Conv2dShape& shape, MapSize out) {
  return 2.0 * static_cast<double>(out.tokens()) *
         static_cast<double>(shape.in * shape.out * shape.kernel() * shape.kernel());
}

}  // namespace

MapSize Conv2dShape::OutSize(MapSize in_size) const {
  if (kind == ConvKind::k3x3Down) return {in_size.h / 2, in_size.w / 2};
  if (kind == ConvKind::k3x3Upsampled) return {in_size.h * 2, in_size.w * 2};
  return in_size;
}

size_t Conv2dWeights::bytes() const {
  return plain_.bytes() + bias_.bytes() + (packed_ ? static_cast<size_t>(BytesOf(*packed_)) : 0);
}

Conv2dWeights Conv2dWeights::Pack(const Conv2dShape& shape, DType dtype, std::span<const float> kernel_OIHW,
                                  std::span<const float> bias, const OpContext& ctx) {
  NS_CHECK(dtype == DType::kF32 || dtype == DType::kBF16, "convolution in {}", Name(dtype));
  NS_CHECK_EQ(static_cast<int64_t>(kernel_OIHW.size()),
              shape.in * shape.out * shape.kernel() * shape.kernel());
  NS_CHECK_EQ(static_cast<int64_t>(bias.size()), shape.out);
  const MemoryUse use{ctx.ledger, Account::kWeights};
  Conv2dWeights weights;
  weights.shape_ = shape;
  weights.dtype_ = dtype;
  weights.backend_ = ctx.backend;
  weights.bias_ = CopyOf(bias, use);
  const std::vector<float> kernel = RoundedTo(dtype, kernel_OIHW);
  if (ctx.backend == Backend::kReference) {
    weights.plain_ = CopyOf(kernel, use);
  } else {
    weights.packed_ = PackCpu(shape, OperandType(dtype, ctx.isa), kernel, use);
  }
  return weights;
}

void Conv2d(const Conv2dWeights& weights, const Conv2dArgs& args, const OpContext& ctx) {
  const Conv2dShape& shape = weights.shape();
  NS_CHECK(args.x.shape().rank() == 3 && args.y.shape().rank() == 3, "convolution of {} to {}",
           ToString(args.x.shape()), ToString(args.y.shape()));
  const MapSize out = shape.OutSize({args.x.dim(0), args.x.dim(1)});
  NS_CHECK(args.x.dim(2) == shape.in, "{} has not {} channels", ToString(args.x.shape()), shape.in);
  NS_CHECK(args.y.shape() == Shape({out.h, out.w, shape.out}), "{}, expected {}", ToString(args.y.shape()),
           ToString({out.h, out.w, shape.out}));
  NS_CHECK(!args.norm || static_cast<int64_t>(args.norm->scale.size()) == shape.in,
           "norm of {} channels for {}", args.norm->scale.size(), shape.in);
  NS_CHECK_EQ(args.moments.channels(), shape.out);
  NS_CHECK_EQ(args.moments.parts(), MomentParts(shape, out, weights.backend()));
  if (args.x.raw() == args.y.raw()) {
    NS_CHECK(CanShrinkInPlace(shape) && args.x.dtype() == args.y.dtype(), "{} {} onto {} {}",
             Name(args.x.dtype()), ToString(args.x.shape()), Name(args.y.dtype()), ToString(args.y.shape()));
  }
  if (out.tokens() == 0) return;
  const ProfileScope scope(ctx.profiler, "conv2d", Flop(shape, out));
  weights.backend() == Backend::kReference ? Conv2dReference(weights, args, ctx)
                                           : Conv2dCpu(weights, args, ctx);
}

bool CanShrinkInPlace(const Conv2dShape& shape) {
  return shape.kind == ConvKind::k1x1 && 2 * shape.out <= shape.in;
}

int64_t MomentParts(const Conv2dShape& shape, MapSize out_size, Backend backend) {
  return backend == Backend::kReference ? out_size.h : TilesCpu(shape, out_size);
}

int64_t MostMomentParts(MapSize out_size, Backend backend) {
  return backend == Backend::kReference ? out_size.h : MostTilesCpu(out_size);
}

}  // namespace nextscale
