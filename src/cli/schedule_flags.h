// --size, --aspect and --pixels to the schedule that comes nearest.
#pragma once

#include <string>

#include "engine/model_info.h"

namespace nextscale {

struct SizeFlags {
  std::string size;    // WxH in pixels
  std::string aspect;  // W:H
  std::string pixels;  // 0.06M, 0.25M, 0.60M, 1M
};

struct ChosenSchedule {
  ScaleSchedule schedule;
  int64_t width = 0, height = 0;  // in pixels
  std::string notice;  // what was snapped, or that the model was trained at another size; may be empty
};

// Without flags: the schedule the model was trained at, or 1:1 1M. Errors: CallError.
StatusOr<ChosenSchedule> ChooseSchedule(const SizeFlags& flags, const ModelInfo& info);

}  // namespace nextscale
