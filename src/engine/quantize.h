// Multi-scale residual quantisation (infinity.md, "Codes to image", last paragraphs; the oracle's
// encode_bits): a picture's features to the bits of every scale, and bits back to the sum of their codes.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "model/observer.h"
#include "model/scale_schedule.h"
#include "ops/context.h"

namespace nextscale {

struct EncodedBits {
  std::vector<Tensor> bits;  // u8 [d, h, w] a scale, at the latent's maps (with patchify twice the token
                             // map's height and width)
  Tensor summed;             // [d, H, W] f32: the sum of all codes
};

// features [d, H, W] f32; H, W is the latent map of the schedule's last one (NS_CHECK). The observer (may be
// null) sees of every scale "scaleNN.residual" [d, h, w], "scaleNN.bits" [d, h, w], "scaleNN.summed" [d, H,
// W], and of all but the last "scaleNN.next_input" [tokens of the next map, bits a token].
EncodedBits EncodeBits(ConstView features_dhw, const ScaleSchedule& schedule, bool patchify,
                       TensorObserver* observer, const OpContext& ops);

// Bits [d, h, w] of each scale, coarsest first, the last at the latent's size -> the sum of their codes [d,
// H, W] f32.
Tensor SumOfCodes(std::span<const Tensor> bits_dhw, const OpContext& ops);

}  // namespace nextscale
