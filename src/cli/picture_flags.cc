#include "cli/picture_flags.h"

#include <fmt/format.h>

namespace nextscale {

void DeclarePictureFlags(CLI::App& command, PictureFlags& flags) {
  AddModelFlags(command, flags.model);
  command.add_option("--pixels", flags.size.pixels,
                     "0.06M, 0.25M, 0.60M or 1M (default: nearest to the picture's)");
  command.add_option("--aspect", flags.size.aspect, "WIDTH:HEIGHT (default: the picture's)");
  command
      .add_option("--resize", flags.resize,
                  "area or bilinear: bring the picture to the nearest size that a schedule has, its ratio "
                  "too (default: it must have one)")
      ->check(CLI::IsMember({"area", "bilinear"}));
  command.add_option("--type", flags.type, "type of the VAE's arithmetic: f32 (default) or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}));
}

StatusOr<PreparedPicture> PreparePicture(const PictureFlags& flags, const ModelInfo& info,
                                         const OpContext& ops) {
  NS_ASSIGN_OR_RETURN(Image picture, ReadImage(flags.input));
  const MapSize size{picture.height, picture.width};
  NS_ASSIGN_OR_RETURN(ScaleSchedule schedule,
                      ScheduleOfPicture(size, flags.size, info, !flags.resize.empty()));
  const MapSize wanted{schedule.last().h * info.pixels_per_token(),
                       schedule.last().w * info.pixels_per_token()};
  PreparedPicture out{.schedule = std::move(schedule)};
  if (wanted == size) {
    out.picture = std::move(picture);
  } else {
    out.picture = ResizePicture(
        picture, wanted, flags.resize == "area" ? PictureResize::kArea : PictureResize::kBilinear, ops);
    out.notice = fmt::format("the picture was resized from {}x{} to {}x{} ({})", size.w, size.h, wanted.w,
                             wanted.h, flags.resize);
  }
  return out;
}

}  // namespace nextscale
