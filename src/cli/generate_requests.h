// From flags and prompt files to the pictures that will be made.
#pragma once

#include <string>
#include <vector>

#include "cli/generate_flags.h"
#include "engine/request.h"

namespace nextscale {

struct Picture {
  PictureRequest request;
  int64_t width = 0, height = 0;  // in pixels
  std::string output;             // path
  KvFlags kv_flags;               // this picture's own
  KvOptions kv;
  PruneFlags prune_flags;
  PruneOptions prune;
};

struct PictureList {
  std::vector<Picture> pictures;     // at least one
  std::vector<std::string> notices;  // each once
};

// Pictures are numbered i = 0, 1, ... over prompts, then count; picture i has seed N + i (modulo 2^64) unless
// its JSON line says another, which its further copies count on from. `files`: of the model, for its
// presets and its plan. Errors: CallError, for a prompt file with the number of its line; of CheckRequest
// and KvPlans.
StatusOr<PictureList> MakePictureList(const GenerateFlags& flags, const ModelInfo& info,
                                      const ModelFiles& files);

}  // namespace nextscale
