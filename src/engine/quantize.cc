#include "engine/quantize.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "ops/resample.h"
#include "ops/sample.h"

namespace nextscale {
namespace {

MemoryUse Use(const OpContext& ops) { return {ops.ledger, Account::kActivations}; }

MapSize SizeOfMap(ConstView dhw) { return {dhw.dim(1), dhw.dim(2)}; }

// x [d, H, W] at the size of `map`, by area.
Tensor AreaResized(ConstView x, MapSize map, const OpContext& ops) {
  Tensor out(DType::kF32, {x.dim(0), map.h, map.w}, Use(ops));
  ResizeArea(x, out.view(), ops);
  return out;
}

Tensor BilinearResized(ConstView x, MapSize map, const OpContext& ops) {
  Tensor out(DType::kF32, {x.dim(0), map.h, map.w}, Use(ops));
  ResizeBilinear(x, out.view(), ops);
  return out;
}

Tensor SignBits(ConstView residual, const OpContext& ops) {
  Tensor bits(DType::kU8, residual.shape(), Use(ops));
  const float* r = residual.data<float>();
  uint8_t* b = bits.data<uint8_t>();
  for (int64_t i = 0; i < residual.elements(); ++i) b[i] = r[i] > 0;
  return bits;
}

// The code of a map's bits at the latent's size; a map of that size is taken as it is.
Tensor CodeAt(ConstView bits, MapSize latent, const OpContext& ops) {
  Tensor code(DType::kF32, bits.shape(), Use(ops));
  BitsToCode(bits, code.view());
  return SizeOfMap(bits) == latent ? std::move(code) : BilinearResized(code.view(), latent, ops);
}

void AddScaled(View x, float sign, ConstView y) {
  float* a = x.data<float>();
  const float* b = y.data<float>();
  for (int64_t i = 0; i < x.elements(); ++i) a[i] += sign * b[i];
}

// What the transformer would read at `map`: the sum so far resized, one row a token.
Tensor NextInput(ConstView summed, MapSize map, bool patchify, const OpContext& ops) {
  const Tensor resized = BilinearResized(summed, LatentMap(map, patchify), ops);
  const int64_t d = summed.dim(0) * (patchify ? 4 : 1);
  Tensor channels(DType::kF32, {d, map.h, map.w}, Use(ops));
  Tensor rows(DType::kF32, {map.tokens(), d}, Use(ops));
  if (patchify) {
    PixelUnshuffle2(resized.view(), channels.view());
    ChannelsToTokens(channels.view(), rows.view());
  } else {
    ChannelsToTokens(resized.view(), rows.view());
  }
  return rows;
}

}  // namespace

EncodedBits EncodeBits(ConstView features_dhw, const ScaleSchedule& schedule, bool patchify,
                       TensorObserver* observer, const OpContext& ops) {
  const MapSize latent = SizeOfMap(features_dhw);
  NS_CHECK(latent == LatentMap(schedule.last(), patchify), "features {}, last map {}x{}",
           ToString(features_dhw.shape()), schedule.last().h, schedule.last().w);
  const auto see = [&](int k, std::string_view what, ConstView tensor) {
    if (observer) observer->See(fmt::format("scale{:02d}.{}", k, what), tensor);
  };

  EncodedBits out{{}, Tensor(DType::kF32, features_dhw.shape(), Use(ops))};
  out.summed.FillZero();
  Tensor residual(DType::kF32, features_dhw.shape(), Use(ops));
  std::memcpy(residual.data<float>(), features_dhw.data<float>(), residual.bytes());
  for (int k = 0; k < schedule.scales(); ++k) {
    const MapSize map = LatentMap(schedule.maps[k], patchify);
    const Tensor resized = map == latent ? Tensor() : AreaResized(residual.view(), map, ops);
    const ConstView seen = map == latent ? ConstView(residual.view()) : resized.view();
    see(k, "residual", seen);
    out.bits.push_back(SignBits(seen, ops));
    see(k, "bits", out.bits.back().view());
    const Tensor code = CodeAt(out.bits.back().view(), latent, ops);
    AddScaled(residual.view(), -1.0f, code.view());
    AddScaled(out.summed.view(), 1.0f, code.view());
    see(k, "summed", out.summed.view());
    if (observer && k + 1 < schedule.scales()) {
      see(k, "next_input", NextInput(out.summed.view(), schedule.maps[k + 1], patchify, ops).view());
    }
  }
  return out;
}

Tensor SumOfCodes(std::span<const Tensor> bits_dhw, const OpContext& ops) {
  NS_CHECK(!bits_dhw.empty());
  const MapSize latent = SizeOfMap(bits_dhw.back().view());
  Tensor summed(DType::kF32, {bits_dhw.front().dim(0), latent.h, latent.w}, Use(ops));
  summed.FillZero();
  for (const Tensor& bits : bits_dhw) {
    if (!bits.empty()) AddScaled(summed.view(), 1.0f, CodeAt(bits.view(), latent, ops).view());
  }
  return summed;
}

}  // namespace nextscale
