#include "cli/picture_codec.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/engine.h"
#include "engine/quantize.h"

namespace nextscale {
namespace {

constexpr int kBudgets[] = {7, 10, 12, 13};  // scales of 0.06M, 0.25M, 0.60M, 1M

MapSize PixelsOf(const ScaleSchedule& schedule, int64_t pixels_per_token) {
  return {schedule.last().h * pixels_per_token, schedule.last().w * pixels_per_token};
}

// The budget whose picture has nearly as many pixels.
int NearestScales(MapSize size, double ratio, int64_t pixels_per_token) {
  int best = kBudgets[0];
  double least = INFINITY;
  for (const int scales : kBudgets) {
    const MapSize p = PixelsOf(MakeSchedule(ratio, scales), pixels_per_token);
    const double gap =
        std::abs(std::log(static_cast<double>(p.tokens()) / static_cast<double>(size.tokens())));
    if (gap < least) {
      least = gap;
      best = scales;
    }
  }
  return best;
}

std::optional<ScaleSchedule> ExactSchedule(MapSize size, const ScheduleChoice& choice,
                                           int64_t pixels_per_token) {
  for (const double ratio : ScheduleRatios()) {
    for (const int scales : kBudgets) {
      ScaleSchedule s = MakeSchedule(ratio, scales);
      if (PixelsOf(s, pixels_per_token) == size && (!choice.scales || *choice.scales == scales)) return s;
    }
  }
  return std::nullopt;
}

}  // namespace

StatusOr<ScaleSchedule> ScheduleOfPicture(MapSize size, const ScheduleChoice& choice,
                                          int64_t pixels_per_token, bool may_resize) {
  if (!choice.ratio) {
    if (std::optional<ScaleSchedule> exact = ExactSchedule(size, choice, pixels_per_token))
      return *std::move(exact);
  }
  const double ratio = choice.ratio.value_or(static_cast<double>(size.h) / static_cast<double>(size.w));
  ScaleSchedule schedule =
      MakeSchedule(ratio, choice.scales.value_or(NearestScales(size, ratio, pixels_per_token)));
  const MapSize pixels = PixelsOf(schedule, pixels_per_token);
  if (pixels == size || may_resize) return schedule;
  return CallError(fmt::format("the picture is {}x{}, which no schedule asked for has", size.w, size.h),
                   fmt::format("the nearest is {}x{} ({}, ratio {})", pixels.w, pixels.h,
                               PixelsOfScales(schedule.scales()), schedule.ratio),
                   "--resize area (or bilinear), or another --pixels or --aspect");
}

StatusOr<PictureCodec> PictureCodec::Load(const ModelFiles& files, const ModelInfo& info, DType type,
                                          VaeParts parts, const OpContext& ops) {
  if (!files.vae)
    return FileError(files.name + " has no VAE", "pictures are turned into bits by it", "name it by --vae");
  NS_ASSIGN_OR_RETURN(std::unique_ptr<Vae> vae, Vae::Load(*files.vae, type, parts, ops));
  return PictureCodec(std::move(vae), info.patchify);
}

StatusOr<std::vector<Tensor>> PictureCodec::Encode(const Image& picture, const ScaleSchedule& schedule,
                                                   const OpContext& ops, const CancelToken* cancel) const {
  const MemoryUse use{ops.ledger, Account::kActivations};
  const MapSize latent = LatentMap(schedule.last(), patchify_);
  Tensor features(DType::kF32, {vae_->config().bits, latent.h, latent.w}, use);
  NS_RETURN_IF_ERROR(vae_->Encode(PictureToTensor(picture, use).view(), features.view(), ops, cancel));
  return EncodeBits(features.view(), schedule, patchify_, nullptr, ops).bits;
}

StatusOr<Image> PictureCodec::Decode(const std::vector<Tensor>& bits, const OpContext& ops,
                                     const CancelToken* cancel) const {
  const VaeConfig& config = vae_->config();
  if (bits.back().dim(0) != config.bits) {
    return CallError(fmt::format("the bits are not this model's: {} a place", bits.back().dim(0)),
                     fmt::format("its VAE has {}", config.bits));
  }
  const Tensor summed = SumOfCodes(bits, ops);
  Tensor image(DType::kF32, {3, summed.dim(1) * config.stride(), summed.dim(2) * config.stride()},
               {ops.ledger, Account::kActivations});
  NS_RETURN_IF_ERROR(vae_->Decode(summed.view(), image.view(), ops, cancel));
  return ToImage(image.view());
}

}  // namespace nextscale
