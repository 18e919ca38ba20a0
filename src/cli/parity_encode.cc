#include <cstring>

#include "cli/parity_run.h"
#include "cli/picture_tensor.h"
#include "engine/engine.h"
#include "engine/quantize.h"

namespace nextscale {
namespace {

ConstView Bytes(const Image& picture) {
  return {
      reinterpret_cast<const std::byte*>(picture.rgb.data()), DType::kU8, {picture.height, picture.width, 3}};
}

// Passes what EncodeBits shows to the check; the next scales' inputs, one golden tensor, are joined.
class EncodeWatch : public TensorObserver {
 public:
  explicit EncodeWatch(ParityCheck& check) : check_(check) {}

  void See(std::string_view name, ConstView tensor) override {
    if (!name.ends_with(".next_input")) return check_.See(name, tensor);
    const float* rows = tensor.data<float>();
    next_inputs_.insert(next_inputs_.end(), rows, rows + tensor.elements());
  }
  void Finish() {
    check_.See("next_inputs", ConstView(reinterpret_cast<const std::byte*>(next_inputs_.data()), DType::kF32,
                                        {static_cast<int64_t>(next_inputs_.size())}));
  }

 private:
  ParityCheck& check_;
  std::vector<float> next_inputs_;
};

}  // namespace

Status RunEncodeCase(const ParityRun& run) {
  const ParityCase& c = run.request;
  NS_ASSIGN_OR_RETURN(const Image input, ReadImage(c.input));
  run.check.See("pixels", Bytes(input));
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel({.vae = c.model.vae, .options = c.model.options}));
  if (!files.vae) return FileError(c.model.vae + " holds no VAE", "an encode case needs one");
  NS_ASSIGN_OR_RETURN(const std::unique_ptr<Vae> vae,
                      Vae::Load(*files.vae, run.type, VaeParts::kBoth, run.ops));

  const MapSize latent = LatentMap(c.schedule.last(), c.patchify);
  const int64_t stride = vae->config().stride();
  if (input.height != latent.h * stride || input.width != latent.w * stride) {
    return FileError(c.input + " is not of the schedule's size",
                     fmt::format("it is {}x{}, expected {}x{}", input.width, input.height, latent.w * stride,
                                 latent.h * stride));
  }
  const MemoryUse use{run.ops.ledger, Account::kActivations};
  Tensor features(DType::kF32, {vae->config().bits, latent.h, latent.w}, use);
  NS_RETURN_IF_ERROR(vae->Encode(PictureToTensor(input, use).view(), features.view(), run.ops, run.cancel));
  run.check.See("features", features.view());

  EncodeWatch watch(run.check);
  const EncodedBits encoded = EncodeBits(features.view(), c.schedule, c.patchify, &watch, run.ops);
  watch.Finish();

  Tensor image(DType::kF32, {3, input.height, input.width}, use);
  NS_RETURN_IF_ERROR(vae->Decode(encoded.summed.view(), image.view(), run.ops, run.cancel));
  run.check.See("image", image.view());
  run.check.See("reconstruction", Bytes(ToImage(image.view())));
  return absl::OkStatus();
}

}  // namespace nextscale
