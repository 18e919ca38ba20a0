#include "model/vae/vae_pass.h"

#include <fmt/format.h>

#include <numeric>

namespace nextscale {
namespace {

int64_t MapBytes(MapSize size, int64_t channels, DType dtype) {
  const int64_t bytes = size.tokens() * channels * static_cast<int64_t>(SizeOf(dtype));
  return (bytes + 63) / 64 * 64;
}

}  // namespace

int64_t SlotPlan::total_bytes() const {
  return std::accumulate(slot_bytes.begin(), slot_bytes.end(), int64_t{0});
}

FeatureMap& FeatureMap::operator=(FeatureMap&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  pass_ = std::exchange(other.pass_, nullptr);
  slot_ = other.slot_;
  size_ = other.size_;
  channels_ = other.channels_;
  dtype_ = other.dtype_;
  parts_ = other.parts_;
  return *this;
}

void FeatureMap::Reset() {
  if (pass_) pass_->slot_used_[slot_] = false;
  pass_ = nullptr;
}

View FeatureMap::view() const { return {pass_->slots_[slot_].data(), dtype_, {size_.h, size_.w, channels_}}; }

// At the slot's end: a map that takes the place of a larger one leaves them where they are.
ChannelMoments FeatureMap::moments() const {
  Buffer& slot = pass_->slots_[slot_];
  return {slot.data() + (slot.size() - static_cast<size_t>(ChannelMoments::Bytes(parts_, channels_))), parts_,
          channels_};
}

VaePass::VaePass(DType dtype, Backend backend) : dtype_(dtype), backend_(backend) {}

VaePass::VaePass(DType dtype, const SlotPlan& plan, const OpContext& ctx, const CancelToken* cancel)
    : dtype_(dtype),
      backend_(ctx.backend),
      ctx_(&ctx),
      cancel_(cancel),
      plan_(plan),
      slot_used_(plan.slot_bytes.size()),
      slots_(plan.slot_bytes.size()) {}

// The free slot that has to grow least; of those that needn't grow, the smallest.
int VaePass::PlanSlot(int64_t bytes) {
  const auto cost = [&](size_t slot) {
    const int64_t size = plan_.slot_bytes[slot];
    return std::pair(std::max<int64_t>(0, bytes - size), size);
  };
  int best = -1;
  for (size_t slot = 0; slot < slot_used_.size(); ++slot) {
    if (!slot_used_[slot] && (best < 0 || cost(slot) < cost(best))) best = static_cast<int>(slot);
  }
  if (best < 0) {
    best = static_cast<int>(slot_used_.size());
    slot_used_.push_back(false);
    plan_.slot_bytes.push_back(0);
  }
  plan_.slot_bytes[best] = std::max(plan_.slot_bytes[best], bytes);
  plan_.slot_of_map.push_back(best);
  return best;
}

FeatureMap VaePass::Make(MapSize size, int64_t channels, DType dtype) {
  const int64_t bytes =
      MapBytes(size, channels, dtype) + ChannelMoments::Bytes(MostMomentParts(size, backend_), channels);
  if (!ctx_) PlanSlot(bytes);
  NS_CHECK(maps_made_ < plan_.slot_of_map.size(), "map {} isn't in the plan", maps_made_);
  const int slot = plan_.slot_of_map[maps_made_++];
  NS_CHECK(!slot_used_[slot] && bytes <= plan_.slot_bytes[slot], "slot {} of {} bytes for {}", slot,
           plan_.slot_bytes[slot], bytes);
  slot_used_[slot] = true;
  if (computes() && slots_[slot].size() == 0) {
    slots_[slot] = Buffer(static_cast<size_t>(plan_.slot_bytes[slot]), {ctx_->ledger, Account::kActivations});
  }
  return FeatureMap(this, slot, size, channels, dtype);
}

FeatureMap VaePass::Input(ConstView planes_Chw) {
  const int64_t C = planes_Chw.dim(0), h = planes_Chw.dim(1), w = planes_Chw.dim(2);
  FeatureMap map = Make({h, w}, C, DType::kF32);
  if (!computes()) return map;
  const float* from = planes_Chw.data<float>();
  float* to = map.view().data<float>();
  ParallelFor(h, [&](int64_t y, int) {
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t x = 0; x < w; ++x) to[(y * w + x) * C + c] = from[(c * h + y) * w + x];
    }
  });
  return map;
}

void VaePass::Output(const FeatureMap& map, View planes_Chw) {
  if (!computes()) return;
  const int64_t C = planes_Chw.dim(0), h = planes_Chw.dim(1), w = planes_Chw.dim(2);
  NS_CHECK(map.view().shape() == Shape({h, w, C}), "{} to {}", ToString(map.view().shape()),
           ToString(planes_Chw.shape()));
  const float* from = map.view().data<float>();
  float* to = planes_Chw.data<float>();
  ParallelFor(h, [&](int64_t y, int) {
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t x = 0; x < w; ++x) to[(c * h + y) * w + x] = from[(y * w + x) * C + c];
    }
  });
}

FeatureMap VaePass::Conv(const ConvLayer& conv, const FeatureMap& x) {
  FeatureMap y = Make(conv.shape.OutSize(x.size()), conv.shape.out, dtype_);
  if (computes()) Compute(conv, nullptr, x.view(), false, y);
  return y;
}

// Another map would be the largest thing held: 256 MiB of 1,024 for the published decoder at 1M.
FeatureMap VaePass::ConvInPlace(const ConvLayer& conv, FeatureMap x) {
  if (!CanShrinkInPlace(conv.shape)) return Conv(conv, x);
  plan_.shared_scratch = std::max(plan_.shared_scratch, ShrinkScratchBytes(conv.shape, x.size(), x.dtype_));
  const View before = computes() ? x.view() : View();
  x.channels_ = conv.shape.out;
  if (computes()) Compute(conv, nullptr, before, false, x);
  return x;
}

FeatureMap VaePass::NormConv(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x) {
  FeatureMap y = Make(conv.shape.OutSize(x.size()), conv.shape.out, dtype_);
  ComputeNormed(norm, conv, x, false, y);
  return y;
}

FeatureMap VaePass::NormConvF32(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x) {
  FeatureMap y = Make(conv.shape.OutSize(x.size()), conv.shape.out, DType::kF32);
  ComputeNormed(norm, conv, x, false, y);
  return y;
}

void VaePass::AddNormConv(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x,
                          FeatureMap& sum) {
  ComputeNormed(norm, conv, x, true, sum);
}

void VaePass::ComputeNormed(const NormLayer& norm, const ConvLayer& conv, const FeatureMap& x,
                            bool accumulate, FeatureMap& y) {
  if (!computes()) return;
  const ChannelAffine affine = FoldGroupNorm(norm.weights, x.moments());
  Compute(conv, &affine, x.view(), accumulate, y);
}

void VaePass::Compute(const ConvLayer& conv, const ChannelAffine* norm, ConstView x, bool accumulate,
                      FeatureMap& y) {
  if (cancel_ && cancel_->cancelled()) {
    status_ = Interrupted();
    return;
  }
  y.parts_ = MomentParts(conv.shape, y.size(), backend_);
  Conv2d(conv.weights, {x, y.view(), norm, accumulate, y.moments()}, *ctx_);
  if (!y.moments().Finite()) {
    status_ =
        WorkError(fmt::format("layer {} of the autoencoder gives numbers that are not finite", conv.name),
                  "its input or its weights are broken, or too large for the numbers used",
                  "check the file, or decode in f32");
  }
}

}  // namespace nextscale
