#include "engine/engine.h"

#include <algorithm>
#include <cmath>

#include "ops/resample.h"

namespace nextscale {

StatusOr<std::unique_ptr<Engine>> Engine::Load(const ModelFiles& files, const ModelInfo& info,
                                               const EngineTypes& types, const OpContext& ops) {
  if (!files.transformer) return FileError("the model has no transformer", "", "name it by --transformer");
  if (!files.vae) return FileError("the model has no VAE", "", "name it by --vae");
  std::unique_ptr<Engine> engine(new Engine(info));
  NS_ASSIGN_OR_RETURN(engine->transformer_,
                      Transformer::Load(*files.transformer, *info.transformer, types.transformer, ops));
  NS_ASSIGN_OR_RETURN(engine->vae_, Vae::Load(*files.vae, types.vae, VaeParts::kDecoder, ops));
  return engine;
}

StatusOr<Image> Engine::Decode(ConstView summed, const OpContext& ops, const CancelToken* cancel) const {
  const int64_t stride = info_.vae->stride();
  Tensor image(DType::kF32, {3, summed.dim(1) * stride, summed.dim(2) * stride},
               {ops.ledger, Account::kActivations});
  NS_RETURN_IF_ERROR(vae_->Decode(summed, image.view(), ops, cancel));
  return ToImage(image.view());
}

StatusOr<Image> Engine::DecodePreview(ConstView summed, MapSize size, const OpContext& ops,
                                      const CancelToken* cancel) const {
  const MapSize latent = LatentMap(size, info_.patchify);
  Tensor resized(DType::kF32, {summed.dim(0), latent.h, latent.w}, {ops.ledger, Account::kActivations});
  ResizeBilinear(summed, resized.view(), ops);
  return Decode(resized.view(), ops, cancel);
}

Image ToImage(ConstView image_3HW) {
  const int64_t H = image_3HW.dim(1), W = image_3HW.dim(2);
  const float* x = image_3HW.data<float>();
  Image out{.width = W, .height = H, .rgb = std::vector<uint8_t>(3 * H * W)};
  for (int64_t i = 0; i < H * W; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const float unit = (std::clamp(x[c * H * W + i], -1.0f, 1.0f) + 1.0f) / 2.0f;
      out.rgb[3 * i + c] = static_cast<uint8_t>(unit * 255.0f);
    }
  }
  return out;
}

}  // namespace nextscale
