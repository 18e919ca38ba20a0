// Pictures to bits and back through a model's VAE: what tokenize and reconstruct share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "cli/picture_tensor.h"
#include "cli/schedule_flags.h"
#include "engine/model_info.h"

namespace nextscale {

// The schedule for a picture of `size` pixels: the one whose ratio (--aspect, or the picture's own) and
// number of pixels (--pixels, or its own) are nearest. Without `may_resize` the picture must have the
// schedule's size exactly. Errors: CallError that says the nearest size and how to get it.
StatusOr<ScaleSchedule> ScheduleOfPicture(MapSize size, const SizeFlags& flags, const ModelInfo& info,
                                          bool may_resize);

class PictureCodec {
 public:
  // Errors: FileError, also if the model has no VAE.
  static StatusOr<PictureCodec> Load(const ModelFiles& files, const ModelInfo& info, DType type,
                                     VaeParts parts, const OpContext& ops);

  // The picture has the schedule's size (NS_CHECK). -> u8 [d, h, w] a scale.
  StatusOr<std::vector<Tensor>> Encode(const Image& picture, const ScaleSchedule& schedule,
                                       const OpContext& ops, const CancelToken* cancel) const;
  // Errors: CallError if the bits are not those of this VAE.
  StatusOr<Image> Decode(const std::vector<Tensor>& bits, const OpContext& ops,
                         const CancelToken* cancel) const;

 private:
  PictureCodec(std::unique_ptr<Vae> vae, bool patchify) : vae_(std::move(vae)), patchify_(patchify) {}
  std::unique_ptr<Vae> vae_;
  bool patchify_;
};

}  // namespace nextscale
