#include "engine/bit_source.h"

#include <fmt/format.h>

#include <cstring>

namespace nextscale {
namespace {

class PhiloxBits : public BitSource {
 public:
  explicit PhiloxBits(const PictureRequest& r) : seed_(r.seed), top_p_(r.top_p), top_k_(r.top_k) {}

  Status Draw(int64_t scale, MapSize map, ConstView logits, View bits, const OpContext& ops) override {
    SamplePhilox({.logits = logits,
                  .bits = bits,
                  .map = map,
                  .scale = static_cast<uint32_t>(scale),
                  .seed = seed_,
                  .top_p = top_p_,
                  .top_k = top_k_},
                 ops);
    return absl::OkStatus();
  }

 private:
  uint64_t seed_;
  double top_p_;
  int top_k_;
};

class TorchBits : public BitSource {
 public:
  explicit TorchBits(const PictureRequest& r) : generator_(r.seed), top_p_(r.top_p), top_k_(r.top_k) {}

  Status Draw(int64_t scale, MapSize map, ConstView logits, View bits, const OpContext& ops) override {
    Tensor draws(DType::kF32, {bits.dim(0), bits.dim(1), 2}, {ops.ledger, Account::kActivations});
    generator_.Fill({draws.data<float>(), static_cast<size_t>(draws.elements())});
    SampleExponential(logits, draws.view(), top_p_, top_k_, bits, ops);
    return absl::OkStatus();
  }

 private:
  TorchExponential generator_;
  double top_p_;
  int top_k_;
};

class GivenBits : public BitSource {
 public:
  GivenBits(std::vector<Tensor> given, const PictureRequest& request)
      : given_(std::move(given)), rest_(MakeBitSource(request)) {}

  Status Draw(int64_t scale, MapSize map, ConstView logits, View bits, const OpContext& ops) override {
    // The draws of given scales are taken too, so that what follows starts from the same numbers as without.
    NS_RETURN_IF_ERROR(rest_->Draw(scale, map, logits, bits, ops));
    if (scale >= static_cast<int64_t>(given_.size())) return absl::OkStatus();
    const Tensor& given = given_[scale];
    if (given.shape() != bits.shape()) {
      return CallError(fmt::format("the given bits of scale {} are {}", scale, ToString(given.shape())),
                       fmt::format("this picture needs {}", ToString(bits.shape())));
    }
    std::memcpy(bits.raw(), given.view().raw(), bits.elements());
    return absl::OkStatus();
  }

 private:
  std::vector<Tensor> given_;
  std::unique_ptr<BitSource> rest_;
};

}  // namespace

std::unique_ptr<BitSource> MakeBitSource(const PictureRequest& request) {
  if (request.rng == RngKind::kTorch) return std::make_unique<TorchBits>(request);
  return std::make_unique<PhiloxBits>(request);
}

std::unique_ptr<BitSource> MakeGivenBits(std::vector<Tensor> given, const PictureRequest& request) {
  return std::make_unique<GivenBits>(std::move(given), request);
}

}  // namespace nextscale
