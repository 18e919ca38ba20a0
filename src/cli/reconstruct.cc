// nextscale reconstruct: bits -> picture, or picture -> bits -> picture with the distance between the two.
#include <fmt/format.h>

#include "cli/bits_file.h"
#include "cli/command.h"
#include "cli/picture_flags.h"
#include "cli/progress.h"
#include "metrics/psnr.h"

namespace nextscale {
namespace {

Status FromBits(const PictureFlags& flags, const PictureCodec& codec, const OpContext& ops,
                CommandLine& line) {
  NS_ASSIGN_OR_RETURN(const std::vector<Tensor> bits, ReadBitsFile(flags.input));
  NS_ASSIGN_OR_RETURN(const Image picture, codec.Decode(bits, ops, &line.cancel));
  NS_RETURN_IF_ERROR(WriteImage(flags.output, picture, {}));
  fmt::print("{}: {}x{}\n", flags.output, picture.width, picture.height);
  return absl::OkStatus();
}

Status FromPicture(const PictureFlags& flags, const ModelInfo& info, const PictureCodec& codec,
                   const OpContext& ops, CommandLine& line) {
  NS_ASSIGN_OR_RETURN(const PreparedPicture input, PreparePicture(flags, info, ops));
  if (!input.notice.empty())
    Progress(Progress::FormFor(line.quiet, line.log_json), stderr).Notice(input.notice);
  NS_ASSIGN_OR_RETURN(const std::vector<Tensor> bits,
                      codec.Encode(input.picture, input.schedule, ops, &line.cancel));
  NS_ASSIGN_OR_RETURN(const Image picture, codec.Decode(bits, ops, &line.cancel));
  NS_RETURN_IF_ERROR(WriteImage(flags.output, picture, {}));
  fmt::print("{}: {}x{}, PSNR {:.2f} dB, SSIM {:.4f}\n", flags.output, picture.width, picture.height,
             Psnr(input.picture, picture), Ssim(input.picture, picture));
  return absl::OkStatus();
}

Status RunReconstruct(const PictureFlags& flags, CommandLine& line) {
  NS_RETURN_IF_ERROR(FormatOfPath(flags.output).status());
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenFlaggedModel(flags.model));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  const OpContext ops;
  const bool from_bits = flags.input.ends_with(".safetensors");
  NS_ASSIGN_OR_RETURN(
      const PictureCodec codec,
      PictureCodec::Load(files, info, flags.dtype(), from_bits ? VaeParts::kDecoder : VaeParts::kBoth, ops));
  return from_bits ? FromBits(flags, codec, ops, line) : FromPicture(flags, info, codec, ops, line);
}

}  // namespace

void AddReconstruct(CommandLine& line) {
  AddCommand<PictureFlags>(
      line, "reconstruct", "bits to picture, or a picture through its bits and back, with PSNR",
      [](CLI::App& command, PictureFlags& flags) {
        command.add_option("input", flags.input, "bits (.safetensors), or a picture")->required();
        command.add_option("-o,--output", flags.output, "PNG, JPEG or WebP by its ending")->required();
        DeclarePictureFlags(command, flags);
        command.footer("Example: nextscale reconstruct photo.jpg --resize area -o as_the_model_sees_it.png");
      },
      RunReconstruct);
}

}  // namespace nextscale
