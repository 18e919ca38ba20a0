// One run through the encoder or the decoder: the maps it holds, and its steps. The same steps, run without
// data, tell beforehand what a run will hold.
#pragma once

#include <vector>

#include "base/cancel.h"
#include "model/vae/vae_layers.h"

namespace nextscale {

// Which memory each map of a run uses: slots that later maps use again.
struct SlotPlan {
  std::vector<int64_t> slot_bytes;
  std::vector<int> slot_of_map;  // in the order the maps are made
  int64_t shared_scratch = 0;    // bytes beside them
  int64_t total_bytes() const;
};

class VaePass;

// A map under way, [h, w, C] in a slot of its pass, with the moments its writer left. Gives the slot back
// when it goes.
class FeatureMap {
 public:
  FeatureMap(VaePass* pass, int slot, MapSize size, int64_t channels, DType dtype)
      : pass_(pass), slot_(slot), size_(size), channels_(channels), dtype_(dtype) {}
  ~FeatureMap() { Reset(); }
  FeatureMap(FeatureMap&& other) noexcept { *this = std::move(other); }
  FeatureMap& operator=(FeatureMap&& other) noexcept;

  MapSize size() const { return size_; }
  int64_t channels() const { return channels_; }

 private:
  friend class VaePass;
  void Reset();
  View view() const;
  ChannelMoments moments() const;  // as last written

  VaePass* pass_ = nullptr;
  int slot_ = -1;
  MapSize size_;
  int64_t channels_ = 0;
  DType dtype_ = DType::kF32;
  int64_t parts_ = 0;
};

class VaePass {
 public:
  // A run that only plans; `dtype` is the type of the maps between layers.
  VaePass(DType dtype, Backend backend);
  // A run that computes. `plan` is that of the same steps on the same sizes.
  VaePass(DType dtype, const SlotPlan& plan, const OpContext& ctx, const CancelToken* cancel);

  // [C, h, w] f32 -> a map. When planning only the shape is looked at.
  FeatureMap Input(ConstView planes_Chw);
  // conv(x)
  FeatureMap Conv(const ConvLayer& conv, const FeatureMap& x);
  // conv(x) where x was, if the convolution allows it.
  FeatureMap ConvInPlace(const ConvLayer& conv, FeatureMap x);
  // conv(silu(norm(x)))
  FeatureMap NormConv(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x);
  // The same, kept in f32.
  FeatureMap NormConvF32(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x);
  // sum += conv(silu(norm(x)))
  void AddNormConv(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x, FeatureMap& sum);
  // An f32 map -> [C, h, w] f32.
  void Output(const FeatureMap& x, View planes_Chw);

  // The first error; steps after it do nothing.
  const Status& status() const { return status_; }
  const SlotPlan& plan() const { return plan_; }

 private:
  friend class FeatureMap;
  bool computes() const { return ctx_ && status_.ok(); }
  FeatureMap Make(MapSize size, int64_t channels, DType dtype);
  int PlanSlot(int64_t bytes);
  void ComputeNormed(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x, bool accumulate,
                     FeatureMap& y);
  void Compute(const ConvLayer& conv, const ChannelAffine* norm, ConstView x, bool accumulate, FeatureMap& y);

  const DType dtype_;
  const Backend backend_;
  const OpContext* ctx_ = nullptr;  // null when planning
  const CancelToken* cancel_ = nullptr;
  SlotPlan plan_;
  size_t maps_made_ = 0;
  std::vector<bool> slot_used_;
  std::vector<Buffer> slots_;
  Status status_;
};

// x -> x + conv2(silu(norm2(conv1(silu(norm1(x)))))), x through nin_shortcut where the channels differ.
FeatureMap RunResBlock(const ResBlock& block, FeatureMap x, VaePass& pass);
// Latent -> image and image -> features, before any clamping.
void RunDecoder(const CoderLayers& decoder, ConstView latent_dhw, View image_3HW, VaePass& pass);
void RunEncoder(const CoderLayers& encoder, ConstView image_3HW, View features_dhw, VaePass& pass);

}  // namespace nextscale
