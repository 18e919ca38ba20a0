#include "model/vae/vae.h"

#include <algorithm>

#include "model/vae/vae_pass.h"

namespace nextscale {
namespace {

void ClampToUnit(View values) {
  float* v = values.data<float>();
  for (int64_t i = 0; i < values.elements(); ++i) v[i] = std::clamp(v[i], -1.0f, 1.0f);
}

using Run = void (*)(const CoderLayers&, ConstView, View, VaePass&);

SlotPlan PlanOf(Run run, const CoderLayers& layers, const Shape& from, const Shape& to, DType dtype,
                Backend backend) {
  VaePass pass(dtype, backend);
  run(layers, {nullptr, DType::kF32, from}, {nullptr, DType::kF32, to}, pass);
  return pass.plan();
}

}  // namespace

class Vae::Impl {
 public:
  // Plans with the very steps, then runs them.
  Status RunCoder(Run run, const CoderLayers& layers, ConstView from, View to, const OpContext& ctx,
                  const CancelToken* cancel) const {
    NS_CHECK(!layers.conv_in.weights.empty(), "this half of the autoencoder wasn't loaded");
    NS_CHECK(layers.conv_in.weights.backend() == ctx.backend,
             "the autoencoder was loaded for the other backend");
    VaePass pass(dtype, PlanOf(run, layers, from.shape(), to.shape(), dtype, ctx.backend), ctx, cancel);
    run(layers, from, to, pass);
    return pass.status();
  }

  VaeConfig config;
  DType dtype = DType::kF32;
  CoderLayers decoder, encoder;
};

Vae::Vae(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Vae::~Vae() = default;

StatusOr<std::unique_ptr<Vae>> Vae::Load(const TensorSource& source, DType dtype, VaeParts parts,
                                         const OpContext& ctx) {
  auto impl = std::make_unique<Impl>();
  impl->dtype = dtype;
  NS_ASSIGN_OR_RETURN(impl->config, VaeConfig::FromTensors(source));
  if (parts != VaeParts::kEncoder) {
    impl->decoder = DecoderLayers(impl->config);
    NS_RETURN_IF_ERROR(LoadLayers(source, dtype, ctx, impl->decoder));
  }
  if (parts != VaeParts::kDecoder) {
    impl->encoder = EncoderLayers(impl->config);
    NS_RETURN_IF_ERROR(LoadLayers(source, dtype, ctx, impl->encoder));
  }
  return std::unique_ptr<Vae>(new Vae(std::move(impl)));
}

const VaeConfig& Vae::config() const { return impl_->config; }

size_t Vae::weight_bytes() const {
  size_t bytes = 0;
  const auto add = [&](const ConvLayer& layer) { bytes += layer.weights.bytes(); };
  ForEachConv(impl_->decoder, add);
  ForEachConv(impl_->encoder, add);
  return bytes;
}

Status Vae::Decode(ConstView latent_dhw, View image_3HW, const OpContext& ctx,
                   const CancelToken* cancel) const {
  NS_CHECK(latent_dhw.shape().rank() == 3 && latent_dhw.elements() > 0, "latent {}",
           ToString(latent_dhw.shape()));
  NS_CHECK_EQ(latent_dhw.dim(0), config().bits);
  const int64_t stride = config().stride();
  const Shape expected({3, stride * latent_dhw.dim(1), stride * latent_dhw.dim(2)});
  NS_CHECK(image_3HW.shape() == expected, "image {}, expected {}", ToString(image_3HW.shape()),
           ToString(expected));
  const ProfileScope scope(ctx.profiler, "vae.decode");
  NS_RETURN_IF_ERROR(impl_->RunCoder(RunDecoder, impl_->decoder, latent_dhw, image_3HW, ctx, cancel));
  ClampToUnit(image_3HW);
  return {};
}

Status Vae::Encode(ConstView image_3HW, View features_dhw, const OpContext& ctx,
                   const CancelToken* cancel) const {
  const int64_t stride = config().stride();
  NS_CHECK(image_3HW.shape().rank() == 3 && image_3HW.dim(0) == 3 && image_3HW.elements() > 0, "image {}",
           ToString(image_3HW.shape()));
  NS_CHECK(image_3HW.dim(1) % stride == 0 && image_3HW.dim(2) % stride == 0, "image {} at a stride of {}",
           ToString(image_3HW.shape()), stride);
  const Shape expected({config().bits, image_3HW.dim(1) / stride, image_3HW.dim(2) / stride});
  NS_CHECK(features_dhw.shape() == expected, "features {}, expected {}", ToString(features_dhw.shape()),
           ToString(expected));
  const ProfileScope scope(ctx.profiler, "vae.encode");
  return impl_->RunCoder(RunEncoder, impl_->encoder, image_3HW, features_dhw, ctx, cancel);
}

int64_t VaeDecodeWorkingBytes(const VaeConfig& config, MapSize latent, DType dtype, int threads) {
  const CoderLayers decoder = DecoderLayers(config);
  const Shape image({3, config.stride() * latent.h, config.stride() * latent.w});
  int64_t scratch = 0;
  ForEachConv(decoder, [&](const ConvLayer& layer) {
    scratch = std::max(scratch, Conv2dScratchBytes(layer.shape, dtype));
  });
  const SlotPlan plan =
      PlanOf(RunDecoder, decoder, {config.bits, latent.h, latent.w}, image, dtype, Backend::kFast);
  return plan.total_bytes() + plan.shared_scratch + threads * scratch;
}

int64_t VaeWeightBytes(const VaeConfig& config, DType dtype, VaeParts parts) {
  int64_t bytes = 0;
  if (parts != VaeParts::kEncoder) bytes += LayerBytes(DecoderLayers(config), dtype);
  if (parts != VaeParts::kDecoder) bytes += LayerBytes(EncoderLayers(config), dtype);
  return bytes;
}

}  // namespace nextscale
