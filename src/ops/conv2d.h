// 2-d convolutions of feature maps (torch.nn.Conv2d), with what surrounds them in a convolutional autoencoder
// fused in: GroupNorm and SiLU on the way in, a sum and the moments for the next GroupNorm on the way out.
#pragma once

#include <memory>
#include <span>

#include "ops/context.h"
#include "ops/group_norm.h"
#include "ops/map_size.h"
#include "tensor/tensor.h"

namespace nextscale {

enum class ConvKind {
  k1x1,
  k3x3,           // stride 1, zeros 1 wide around
  k3x3Down,       // stride 2, zeros 1 wide at the right and the bottom: [h, w] -> [h/2, w/2]
  k3x3Upsampled,  // k3x3 of the map with each pixel doubled both ways (nearest): [h, w] -> [2h, 2w]
};

struct Conv2dShape {
  ConvKind kind = ConvKind::k3x3;
  int64_t in = 0, out = 0;  // channels
  int64_t kernel() const { return kind == ConvKind::k1x1 ? 1 : 3; }
  MapSize OutSize(MapSize in_size) const;
};

// Kernel [out, in, k, k] and bias [out], ready for Conv2d. Const after packing.
class Conv2dWeights {
 public:
  struct Packed;  // conv2d_cpu.cc's

  // `dtype` kF32 or kBF16: the type of the operands; without fast bf16 the kernel is rounded to it, but
  // multiplied in f32. Errors: WorkError if oneDNN has no such convolution.
  static Conv2dWeights Pack(const Conv2dShape& shape, DType dtype, std::span<const float> kernel_OIHW,
                            std::span<const float> bias, const OpContext& ctx);

  const Conv2dShape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Backend backend() const { return backend_; }
  size_t bytes() const;
  bool empty() const { return shape_.out == 0; }
  // For conv2d_*.cc only: the twin's plain kernel, and the fast one's.
  const Tensor& plain() const { return plain_; }
  const Tensor& bias() const { return bias_; }
  const Packed& packed() const { return *packed_; }

 private:
  Conv2dShape shape_;
  DType dtype_ = DType::kF32;
  Backend backend_ = Backend::kFast;
  Tensor plain_, bias_;
  std::shared_ptr<const Packed> packed_;
};

struct Conv2dArgs {
  ConstView x;  // [h, w, in], f32 or bf16
  View y;       // [H, W, out], f32 or bf16; may not overlap x, but see CanShrinkInPlace
  const ChannelAffine* norm = nullptr;  // null, or x is first normalised by it and swished
  bool accumulate = false;              // y += instead of y =; summed in f32, rounded once
  ChannelMoments moments;               // of y, as stored: MomentParts parts
};

// y (+)= conv(silu(norm(x))) + bias. Sums in f32. The same bits for any number of threads: the map is cut
// into fixed tiles.
void Conv2d(const Conv2dWeights& weights, const Conv2dArgs& args, const OpContext& ctx);

// Whether y may begin where x does: a 1x1 convolution to at most half the channels, x and y of one type. What
// y doesn't cover is lost.
bool CanShrinkInPlace(const Conv2dShape& shape);

// Parts that Conv2d measures a map of this size in.
int64_t MomentParts(const Conv2dShape& shape, MapSize out_size, Backend backend);
// The most of it over all shapes, for who keeps one place for a map that several convolutions write.
int64_t MostMomentParts(MapSize out_size, Backend backend);

// For plans: bytes of the packed weights, and of the scratch that a thread needs, with the fast backend.
int64_t PackedConv2dBytes(const Conv2dShape& shape, DType dtype);
int64_t Conv2dScratchBytes(const Conv2dShape& shape, DType dtype);
// Of the scratch that all threads share, when a map of this type is shrunk in place.
int64_t ShrinkScratchBytes(const Conv2dShape& shape, MapSize size, DType map_dtype);

}  // namespace nextscale
