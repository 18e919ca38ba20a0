// The BSQ tokenizer's convolutional autoencoder (infinity.md, "Codes to image"): latent codes -> picture,
// picture -> features.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "checkpoint/tensor_source.h"
#include "ops/context.h"
#include "ops/map_size.h"

namespace nextscale {

// All read off the tensors' shapes.
struct VaeConfig {
  int64_t bits = 0;  // d: channels of the latent
  int64_t base_channels = 0;
  std::vector<int64_t> multipliers;  // finest level first
  int64_t decoder_res_blocks = 0;    // a level; the encoder has one fewer
  int64_t stride() const { return int64_t{1} << (multipliers.size() - 1); }

  // Errors: FileError that names the file and the tensor.
  static StatusOr<VaeConfig> FromTensors(const TensorSource& source);
};

enum class VaeParts { kDecoder, kEncoder, kBoth };

// Const after loading; calls are safe one at a time a context.
class Vae {
 public:
  // `dtype` is the type of the convolutions' operands, kF32 or kBF16; norms and sums are f32.
  static StatusOr<std::unique_ptr<Vae>> Load(const TensorSource& source, DType dtype, VaeParts parts,
                                             const OpContext& ctx);
  ~Vae();

  const VaeConfig& config() const;
  size_t weight_bytes() const;
  // latent [d, h, w] f32 -> image [3, stride*h, stride*w] f32, clamped to [-1, 1].
  // Errors: Interrupted if `cancel` (may be null) is set; WorkError naming the layer that first shows a NaN
  // or an infinity.
  Status Decode(ConstView latent_dhw, View image_3HW, const OpContext& ctx,
                const CancelToken* cancel = nullptr) const;
  // image [3, H, W] f32 in [-1, 1], H and W multiples of the stride -> features [d, H/stride, W/stride] f32.
  Status Encode(ConstView image_3HW, View features_dhw, const OpContext& ctx,
                const CancelToken* cancel = nullptr) const;

 private:
  class Impl;
  explicit Vae(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Most bytes that Decode holds beside weights, latent and image, for plans.
int64_t VaeDecodeWorkingBytes(const VaeConfig& config, MapSize latent, DType dtype, int threads);
// Bytes of the packed weights.
int64_t VaeWeightBytes(const VaeConfig& config, DType dtype, VaeParts parts);

}  // namespace nextscale
