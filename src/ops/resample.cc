// Checks and dispatch of the resizing ops, and the rearrangements.
#include "ops/resample.h"

#include "ops/resample_internal.h"

namespace nextscale {
namespace {

void CheckMaps(ConstView from, ConstView to) {
  NS_CHECK(from.shape().rank() == 3 && to.shape().rank() == 3 && from.dim(0) == to.dim(0), "{} to {}",
           ToString(from.shape()), ToString(to.shape()));
  NS_CHECK(from.dtype() == DType::kF32 && to.dtype() == DType::kF32, "{} to {}", Name(from.dtype()),
           Name(to.dtype()));
  NS_CHECK(from.elements() > 0 && to.elements() > 0, "{} to {}", ToString(from.shape()),
           ToString(to.shape()));
}

// Calls move with both data, typed: f32 or u8.
template <class Move>
void Typed(ConstView from, View to, const Move& move) {
  NS_CHECK(from.dtype() == to.dtype() && (from.dtype() == DType::kF32 || from.dtype() == DType::kU8),
           "{} to {}", Name(from.dtype()), Name(to.dtype()));
  from.dtype() == DType::kF32 ? move(from.data<float>(), to.data<float>())
                              : move(from.data<uint8_t>(), to.data<uint8_t>());
}

// Calls body(i, j) for all elements: i in the shuffled map [4d, h, w], j in the wide one [d, 2h, 2w].
template <class Body>
void OverShuffle(ConstView shuffled, ConstView wide, const Body& body) {
  NS_CHECK(shuffled.shape().rank() == 3 && wide.shape().rank() == 3 && shuffled.dim(0) == 4 * wide.dim(0) &&
               wide.dim(1) == 2 * shuffled.dim(1) && wide.dim(2) == 2 * shuffled.dim(2),
           "{} and {}", ToString(shuffled.shape()), ToString(wide.shape()));
  const int64_t h = shuffled.dim(1), w = shuffled.dim(2);
  int64_t i = 0;
  for (int64_t c = 0; c < shuffled.dim(0); ++c) {
    const int64_t channel = c / 4, row = c / 2 % 2, column = c % 2;
    for (int64_t y = 0; y < h; ++y) {
      for (int64_t x = 0; x < w; ++x) body(i++, ((channel * h + y) * 2 + row) * 2 * w + 2 * x + column);
    }
  }
}

// Calls body(i, j) for all elements: i in [d, h, w], j in [h*w, d].
template <class Body>
void OverTranspose(ConstView dhw, ConstView Ld, const Body& body) {
  NS_CHECK(dhw.shape().rank() == 3 && Ld.shape().rank() == 2 && Ld.dim(1) == dhw.dim(0) &&
               Ld.dim(0) == dhw.dim(1) * dhw.dim(2),
           "{} and {}", ToString(dhw.shape()), ToString(Ld.shape()));
  const int64_t d = Ld.dim(1), L = Ld.dim(0);
  for (int64_t l = 0; l < L; ++l) {
    for (int64_t c = 0; c < d; ++c) body(c * L + l, l * d + c);
  }
}

}  // namespace

void ResizeBilinear(ConstView from, View to, const OpContext& ctx) {
  CheckMaps(from, to);
  const ProfileScope scope(ctx.profiler, "resample");
  ctx.backend == Backend::kReference ? resample::BilinearReference(from, to)
                                     : resample::BilinearFast(from, to, ctx);
}

// The twin itself, a channel at a time: encoding a picture calls it a dozen times only.
void ResizeArea(ConstView from, View to, const OpContext& ctx) {
  CheckMaps(from, to);
  const ProfileScope scope(ctx.profiler, "resample");
  if (ctx.backend == Backend::kReference) return resample::AreaReference(from, to, 0, to.dim(0));
  ParallelFor(to.dim(0), [&](int64_t c, int) { resample::AreaReference(from, to, c, c + 1); });
}

void PixelShuffle2(ConstView from, View to) {
  Typed(from, to,
        [&](const auto* a, auto* b) { OverShuffle(from, to, [=](int64_t i, int64_t j) { b[j] = a[i]; }); });
}

void PixelUnshuffle2(ConstView from, View to) {
  Typed(from, to,
        [&](const auto* a, auto* b) { OverShuffle(to, from, [=](int64_t i, int64_t j) { b[i] = a[j]; }); });
}

void ChannelsToTokens(ConstView from_dhw, View to_Ld) {
  Typed(from_dhw, to_Ld, [&](const auto* a, auto* b) {
    OverTranspose(from_dhw, to_Ld, [=](int64_t i, int64_t j) { b[j] = a[i]; });
  });
}

void TokensToChannels(ConstView from_Ld, View to_dhw) {
  Typed(from_Ld, to_dhw, [&](const auto* a, auto* b) {
    OverTranspose(to_dhw, from_Ld, [=](int64_t i, int64_t j) { b[i] = a[j]; });
  });
}

}  // namespace nextscale
