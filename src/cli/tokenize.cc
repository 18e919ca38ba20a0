// nextscale tokenize: picture -> bits.
#include <fmt/format.h>

#include "cli/bits_file.h"
#include "cli/command.h"
#include "cli/picture_flags.h"
#include "cli/progress.h"

namespace nextscale {
namespace {

Status RunTokenize(const PictureFlags& flags, CommandLine& line) {
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenFlaggedModel(flags.model));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  const OpContext ops;
  NS_ASSIGN_OR_RETURN(const PreparedPicture input, PreparePicture(flags, info, ops));
  Progress progress(Progress::FormFor(line.quiet, line.log_json), stderr);
  if (!input.notice.empty()) progress.Notice(input.notice);
  NS_ASSIGN_OR_RETURN(const PictureCodec codec,
                      PictureCodec::Load(files, info, flags.dtype(), VaeParts::kEncoder, ops));
  NS_ASSIGN_OR_RETURN(const std::vector<Tensor> bits,
                      codec.Encode(input.picture, input.schedule, ops, &line.cancel));
  NS_RETURN_IF_ERROR(WriteBitsFile(flags.output, bits));
  fmt::print("{}: {} scales to {}x{}, {} tokens of {} bits\n", flags.output, input.schedule.scales(),
             input.schedule.last().h, input.schedule.last().w, input.schedule.tokens(),
             info.vae->bits * (info.patchify ? 4 : 1));
  return absl::OkStatus();
}

}  // namespace

void AddTokenize(CommandLine& line) {
  AddCommand<PictureFlags>(
      line, "tokenize", "picture to bits",
      [](CLI::App& command, PictureFlags& flags) {
        command.add_option("picture", flags.input, "PNG, JPEG or WebP")->required();
        command
            .add_option("-o,--output", flags.output, "safetensors: scaleNN.bits, u8 [1, bits, height, width]")
            ->required();
        DeclarePictureFlags(command, flags);
        command.footer("Example: nextscale tokenize apple.png -o apple.safetensors");
      },
      RunTokenize);
}

}  // namespace nextscale
