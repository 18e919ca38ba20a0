#include "cli/parity_replay.h"

#include <fmt/format.h>

#include <cstring>

#include "ops/sample.h"

namespace nextscale {

std::string ReplayedBits::Name(int64_t scale, std::string_view what) const {
  return fmt::format("{}scale{:02d}.{}", place_.prefix, scale, what);
}

Status ReplayedBits::Draw(int64_t scale, MapSize, ConstView logits, View bits, const OpContext& ops) {
  NS_ASSIGN_OR_RETURN(const Tensor draws, run_.check.Expected(Name(scale, "draws")));
  if (draws.elements() != place_.images * bits.elements() * 2 || draws.dtype() != DType::kF32) {
    return FileError(fmt::format("{}: {} is {}", run_.request.ExpectedPath(), Name(scale, "draws"),
                                 ToString(draws.shape())),
                     fmt::format("the model draws {} bits of each of {} images there", ToString(bits.shape()),
                                 place_.images));
  }
  const ConstView own =
      draws.view().Reshape({place_.images, bits.dim(0), bits.dim(1), 2}).Rows(place_.image, 1);
  SampleExponential(logits, own.Reshape({bits.dim(0), bits.dim(1), 2}), run_.request.top_p,
                    run_.request.top_k, bits, ops);
  run_.check.SeePart(Name(scale, "logits"), logits, place_.image, place_.images);
  run_.check.SeePart(Name(scale, "bits"), bits, place_.image, place_.images);
  return run_.type == DType::kF32 ? absl::OkStatus() : GoOnFromExpected(scale, bits);
}

Status ReplayedBits::GoOnFromExpected(int64_t scale, View bits) const {
  NS_ASSIGN_OR_RETURN(const Tensor expected, run_.check.Expected(Name(scale, "bits")));
  if (expected.elements() != place_.images * bits.elements() || expected.dtype() != DType::kU8) {
    return FileError(
        fmt::format("{}: {} is {}", run_.request.ExpectedPath(), Name(scale, "bits"),
                    ToString(expected.shape())),
        fmt::format("the model has {} of each of {} images there", ToString(bits.shape()), place_.images));
  }
  std::memcpy(bits.raw(), expected.data<uint8_t>() + place_.image * bits.elements(), bits.elements());
  return absl::OkStatus();
}

PictureRequest RequestOfImage(const ParityCase& c, size_t image) {
  return {.prompt = c.prompts[image],
          .negative = c.negative,
          .seed = c.seeds[image],
          .schedule = c.schedule,
          .cfg = c.cfg,
          .tau = c.tau,
          .top_p = c.top_p,
          .top_k = c.top_k,
          .cfg_insertion_layer = c.cfg_insertion_layer,
          .rng = RngKind::kTorch};
}

void SeeText(std::string_view whose, const PromptText& text, ParityCheck& check) {
  check.See(fmt::format("{}.ids", whose), ConstView(reinterpret_cast<const std::byte*>(text.ids.data()),
                                                    DType::kI32, {static_cast<int64_t>(text.ids.size())}));
  check.See(fmt::format("{}.t5", whose), text.rows.view());
}

}  // namespace nextscale
