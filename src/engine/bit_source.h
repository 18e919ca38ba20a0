// Where the bits of a map come from: fresh draws, torch's replayed, or bits given.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "engine/request.h"
#include "ops/sample.h"

namespace nextscale {

// One image's bits. Asked scale by scale, in order, for the scales that run.
class BitSource {
 public:
  virtual ~BitSource() = default;
  // logits [L, d, 2] f32, guided and divided by tau; bits [L, d] u8.
  virtual Status Draw(int64_t scale, MapSize map, ConstView logits, View bits, const OpContext& ops) = 0;
};

// The request's own draws: Philox by position (cli.md, "Seeds"), or torch's generator replayed.
std::unique_ptr<BitSource> MakeBitSource(const PictureRequest& request);

// The first `keep` scales from `given` ([L, d] u8 a scale), the rest drawn by the request: variations.
std::unique_ptr<BitSource> MakeGivenBits(std::vector<Tensor> given, const PictureRequest& request);

}  // namespace nextscale
