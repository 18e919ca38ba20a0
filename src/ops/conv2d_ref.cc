// Convolution's scalar twin: each output summed tap by tap (torch.nn.Conv2d), operands rounded to the
// weights' type, sums in f64.
#include "ops/conv2d_internal.h"
#include "ops/group_norm_internal.h"

namespace nextscale {
namespace {

// The input as it is multiplied: normalised, swished and rounded.
Tensor Operand(const Conv2dWeights& weights, const Conv2dArgs& args, const OpContext& ctx) {
  const MemoryUse use{ctx.ledger, Account::kScratch};
  Tensor rounded(weights.dtype(), args.x.shape(), use);
  if (args.norm) {
    NormPixelsReference(*args.norm, true, args.x, rounded.view());
  } else {
    ConvertFloats(args.x.raw(), args.x.dtype(), rounded.view().raw(), rounded.dtype(), args.x.elements());
  }
  Tensor operand(DType::kF32, args.x.shape(), use);
  ConvertFloats(rounded.view().raw(), rounded.dtype(), operand.view().raw(), DType::kF32, args.x.elements());
  return operand;
}

void StoreElement(double sum, bool accumulate, View y, int64_t i) {
  if (y.dtype() == DType::kF32) {
    float& to = y.data<float>()[i];
    to = static_cast<float>(accumulate ? sum + to : sum);
  } else {
    bf16_t& to = y.data<bf16_t>()[i];
    to = bf16_t(static_cast<float>(accumulate ? sum + static_cast<float>(to) : sum));
  }
}

// One output channel of one output pixel, without the bias.
double Taps(const Conv2dShape& shape, const Tensor& x, const float* kernel_IHW, int64_t y0, int64_t x0) {
  const ConvGeometry g = GeometryOf(shape.kind);
  const int64_t k = shape.kernel(), h = x.dim(0) << g.doubled, w = x.dim(1) << g.doubled;
  double sum = 0;
  for (int64_t ky = 0; ky < k; ++ky) {
    for (int64_t kx = 0; kx < k; ++kx) {
      const int64_t iy = y0 * g.stride - g.pad + ky, ix = x0 * g.stride - g.pad + kx;
      if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
      const float* pixel = x.data<float>() + ((iy >> g.doubled) * x.dim(1) + (ix >> g.doubled)) * shape.in;
      for (int64_t i = 0; i < shape.in; ++i)
        sum += static_cast<double>(pixel[i]) * kernel_IHW[(i * k + ky) * k + kx];
    }
  }
  return sum;
}

}  // namespace

void Conv2dReference(const Conv2dWeights& weights, const Conv2dArgs& args, const OpContext& ctx) {
  const Conv2dShape& shape = weights.shape();
  const Tensor x = Operand(weights, args, ctx);
  const int64_t taps = shape.in * shape.kernel() * shape.kernel(), width = args.y.dim(1);
  ParallelFor(args.y.dim(0), [&](int64_t row, int) {
    for (int64_t column = 0; column < width; ++column) {
      for (int64_t o = 0; o < shape.out; ++o) {
        const double sum = Taps(shape, x, weights.plain().data<float>() + o * taps, row, column) +
                           weights.bias().data<float>()[o];
        StoreElement(sum, args.accumulate, args.y, (row * width + column) * shape.out + o);
      }
    }
  });
  MeasureRowsReference(args.y, args.moments);
}

}  // namespace nextscale
