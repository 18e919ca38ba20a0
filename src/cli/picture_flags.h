// The flags that tokenize and reconstruct share, and what they mean.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/model_flags.h"
#include "cli/picture_codec.h"

namespace nextscale {

struct PictureFlags {
  ModelFlags model;
  SizeFlags size;
  std::string input, output, resize, type = "f32";

  DType dtype() const { return type == "bf16" ? DType::kBF16 : DType::kF32; }
};

void DeclarePictureFlags(CLI::App& command, PictureFlags& flags);

// The input picture at its schedule's size.
struct PreparedPicture {
  Image picture;
  ScaleSchedule schedule;
  std::string notice;  // that it was resized; or empty
};
StatusOr<PreparedPicture> PreparePicture(const PictureFlags& flags, const ModelInfo& info,
                                         const OpContext& ops);

}  // namespace nextscale
