// A case folder of golden form (golden/README.md): what its request.json asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/model_files.h"
#include "model/scale_schedule.h"
#include "prune/pruner.h"

namespace nextscale {

struct ParityTolerance {
  double floats = 5e-5;  // of the expected tensor's largest value
  double image = 2e-4;   // likewise, of the decoder's output
  int pixels = 1;        // of bytes of a picture
};

struct ParityCase {
  std::string name, folder;
  std::string kind;  // "generate", "encode", "text", "calibrate"
  ModelPaths model;  // paths resolved against the folder; options of the request
  bool patchify = false;
  ParityTolerance tolerance;

  std::vector<std::string> prompts;     // all but encode
  std::optional<std::string> negative;  // generate
  ScaleSchedule schedule;               // all but text: the request's own maps and rotary grid
  std::vector<uint64_t> seeds;
  std::vector<float> cfg, tau;
  double top_p = 0;
  int top_k = 0;
  std::vector<int> cfg_insertion_layer;
  std::string policy;  // generate: the cache policy's JSON
  struct Calibration {
    int64_t top = 0, drafter_count = 0;                             // K', N_d
    int64_t budget = 0, refiner_budget = 0, decay = 0, window = 0;  // of the budgets expected
  } calibration;
  PruneOptions prune;  // generate
  std::string input;   // encode: the picture's path

  std::string ExpectedPath() const { return folder + "/expected.safetensors"; }
};

// Errors: CallError if there is no request.json; FileError naming it and the field that is missing or of
// another form.
StatusOr<ParityCase> ReadParityCase(const std::string& folder);

// A case folder itself, or every folder in `path` that holds a request.json, by name. Errors: CallError if
// there is none.
StatusOr<std::vector<std::string>> FindParityCases(const std::string& path);

}  // namespace nextscale
