// What cases that make pictures share: the recorded draws, and a case's request as the engine's.
#pragma once

#include "cli/parity_run.h"
#include "engine/bit_source.h"
#include "engine/request.h"
#include "engine/text.h"

namespace nextscale {

// Where an image's tensors lie in the expected file: part `image` of `images` of "<prefix>scaleNN.…".
struct ReplayPlace {
  std::string prefix;
  int64_t image = 0, images = 1;
};

// Draws one image's bits from the recorded exponential numbers, argmax p / e, and shows logits and bits to
// the check. In bf16 goes on from the expected bits.
class ReplayedBits : public BitSource {
 public:
  ReplayedBits(const ParityRun& run, ReplayPlace place) : run_(run), place_(std::move(place)) {}
  Status Draw(int64_t scale, MapSize map, ConstView logits, View bits, const OpContext& ops) override;

 private:
  std::string Name(int64_t scale, std::string_view what) const;
  Status GoOnFromExpected(int64_t scale, View bits) const;

  const ParityRun& run_;
  ReplayPlace place_;
};

PictureRequest RequestOfImage(const ParityCase& c, size_t image);

// "<whose>.ids" and "<whose>.t5".
void SeeText(std::string_view whose, const PromptText& text, ParityCheck& check);

}  // namespace nextscale
