#include "cli/picture_codec.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/engine.h"
#include "engine/quantize.h"

namespace nextscale {
namespace {

constexpr int kBudgets[] = {7, 10, 12, 13};  // scales of 0.06M, 0.25M, 0.60M, 1M

// The budget whose picture has most nearly as many pixels.
int NearestScales(MapSize size, const ModelInfo& info) {
  const double ratio = static_cast<double>(size.h) / static_cast<double>(size.w);
  int best = kBudgets[0];
  double least = INFINITY;
  for (const int scales : kBudgets) {
    const double pixels = static_cast<double>(MakeSchedule(ratio, scales).last().tokens() *
                                              info.pixels_per_token() * info.pixels_per_token());
    const double gap = std::abs(std::log(pixels / static_cast<double>(size.tokens())));
    if (gap < least) {
      least = gap;
      best = scales;
    }
  }
  return best;
}

}  // namespace

StatusOr<ScaleSchedule> ScheduleOfPicture(MapSize size, const SizeFlags& flags, const ModelInfo& info,
                                          bool may_resize) {
  if (!info.vae)
    return FileError("the model has no VAE", "pictures are turned into bits by it", "name it by --vae");
  const SizeFlags asked{
      .aspect = flags.aspect.empty() ? fmt::format("{}:{}", size.w, size.h) : flags.aspect,
      .pixels = flags.pixels.empty() ? PixelsOfScales(NearestScales(size, info)) : flags.pixels};
  NS_ASSIGN_OR_RETURN(const ChosenSchedule chosen, ChooseSchedule(asked, info));
  if ((chosen.width == size.w && chosen.height == size.h) || may_resize) return chosen.schedule;
  return CallError(
      fmt::format("the picture is {}x{}, which is not a size the schedules have", size.w, size.h),
      fmt::format("the nearest is {}x{} ({}, height to width {})", chosen.width, chosen.height,
                  PixelsOfScales(chosen.schedule.scales()), chosen.schedule.ratio),
      "--resize area or --resize bilinear, or another --pixels or --aspect");
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
  for (size_t k = 0; k < bits.size(); ++k) {
    if (bits[k].dim(0) == config.bits || (k > 0 && bits[k].empty())) continue;
    return CallError(fmt::format("the bits are not this model's: scale {} has {} a place", k, bits[k].dim(0)),
                     fmt::format("its VAE has {}", config.bits));
  }
  const Tensor summed = SumOfCodes(bits, ops);
  Tensor image(DType::kF32, {3, summed.dim(1) * config.stride(), summed.dim(2) * config.stride()},
               {ops.ledger, Account::kActivations});
  NS_RETURN_IF_ERROR(vae_->Decode(summed.view(), image.view(), ops, cancel));
  return ToImage(image.view());
}

}  // namespace nextscale
