#include "engine/model_info.h"

#include <fmt/format.h>

namespace nextscale {
namespace {

// Pixels that a token of any published transformer covers along an edge; other sizes are not bound to it.
constexpr int64_t kPublishedPixelsPerToken = 16;
constexpr int64_t kPublishedLeastWidth = 768;

// The VAE that a transformer of this many bits a token goes with, for messages.
std::string FittingVae(int64_t bits) {
  std::string fits = fmt::format("a VAE of {} bits and stride 16", bits);
  if (bits == 32) fits += " (infinity_vae_d32.pth or infinity_vae_d32reg.pth)";
  if (bits == 16 || bits == 24 || bits == 64) fits += fmt::format(" (infinity_vae_d{}.pth)", bits);
  if (bits % 4 == 0) {
    fits += fmt::format(", or with spatial patchify one of {} bits and stride 8", bits / 4);
    if (bits == 56) fits += " (infinity_vae_d56_f8_14_patchify.pth)";
  }
  return fits;
}

Status CheckPair(const ModelFiles& files, ModelInfo& info, std::optional<bool> patchify_option) {
  const int64_t token_bits = info.transformer->bits, vae_bits = info.vae->bits;
  const bool plain = token_bits == vae_bits, patched = token_bits == 4 * vae_bits;
  info.patchify = patched;
  const int64_t pixels = info.pixels_per_token();
  const bool stride_fits =
      info.transformer->width < kPublishedLeastWidth || pixels == kPublishedPixelsPerToken;
  if ((!plain && !patched) || !stride_fits) {
    return FileError(fmt::format("the VAE {} does not fit the transformer {}", files.vae->Describe(),
                                 files.transformer->Describe()),
                     fmt::format("the transformer has {} bits a token, the VAE {} bits and stride {}",
                                 token_bits, vae_bits, info.vae->stride()),
                     "use " + FittingVae(token_bits));
  }
  if (patchify_option && *patchify_option != info.patchify) {
    return OptionError(
        "apply_spatial_patchify", files.options.at("apply_spatial_patchify"),
        fmt::format("the transformer has {} bits a token and the VAE {}: spatial patchify is {}", token_bits,
                    vae_bits, patched ? "on" : "off"),
        "leave the option out, or use " + FittingVae(token_bits));
  }
  return absl::OkStatus();
}

StatusOr<int> TrainedScales(const ModelOptions& options) {
  const auto it = options.find("trained_pixels");
  if (it == options.end()) return 0;
  StatusOr<int> scales = ScalesOfPixels(it->second.value);
  if (!scales.ok())
    return OptionError(it->first, it->second, "unknown pixel budget", "one of 0.06M, 0.25M, 0.60M, 1M");
  return scales;
}

StatusOr<std::optional<bool>> PatchifyOption(const ModelOptions& options) {
  const auto it = options.find("apply_spatial_patchify");
  if (it == options.end()) return std::optional<bool>();
  const std::string& value = it->second.value;
  if (value != "0" && value != "1") return OptionError(it->first, it->second, "expected 0 or 1");
  return std::optional<bool>(value == "1");
}

}  // namespace

StatusOr<ModelInfo> ReadModelInfo(const ModelFiles& files) {
  ModelInfo info;
  if (files.transformer) {
    NS_ASSIGN_OR_RETURN(info.transformer, TransformerConfig::FromTensors(*files.transformer, files.options));
  }
  if (files.vae) {
    NS_ASSIGN_OR_RETURN(info.vae, VaeConfig::FromTensors(*files.vae));
  }
  if (files.text) {
    NS_ASSIGN_OR_RETURN(info.text, T5Config::FromTensors(*files.text, files.options));
  }
  NS_ASSIGN_OR_RETURN(info.trained_scales, TrainedScales(files.options));
  NS_ASSIGN_OR_RETURN(const std::optional<bool> patchify, PatchifyOption(files.options));
  info.patchify = patchify.value_or(false);
  if (info.transformer && info.vae) NS_RETURN_IF_ERROR(CheckPair(files, info, patchify));
  if (info.transformer && info.text && info.transformer->text_width != info.text->width) {
    return FileError(fmt::format("the text encoder {} does not fit the transformer {}",
                                 files.text->Describe(), files.transformer->Describe()),
                     fmt::format("the transformer reads text rows of width {}, the encoder gives {}",
                                 info.transformer->text_width, info.text->width),
                     info.transformer->text_width == 2048
                         ? "use flan-t5-xl"
                         : "use the text encoder that the transformer was trained with");
  }
  return info;
}

}  // namespace nextscale
