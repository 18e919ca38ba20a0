// What a picture is made from. All settings are resolved: nothing here is a default that depends on something
// else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/model_info.h"

namespace nextscale {

enum class RngKind { kPhilox, kTorch };

struct PictureRequest {
  std::string prompt;
  std::optional<std::string> negative;  // replaces the learned unconditional text
  uint64_t seed = 0;
  ScaleSchedule schedule;
  std::vector<float> cfg, tau;  // one a scale of the schedule
  double top_p = 0.97;
  int top_k = 900;
  std::vector<int> cfg_insertion_layer = {0};  // 0: on the logits; -n: after block depth - n
  std::optional<int> uncond_until;  // last scale that runs the unconditional stream; not set: all do
  RngKind rng = RngKind::kPhilox;

  // Guidance of a scale: 1 after uncond_until.
  float CfgAt(int64_t scale) const;
  // Guidance runs a second, unconditional stream unless it is 1 at every scale.
  bool guided() const;
  // The last scale that runs the unconditional stream of a guided picture.
  int64_t LastUncondScale() const { return uncond_until.value_or(schedule.scales() - 1); }
};

// Errors: CallError naming the field: lengths other than the schedule's, values out of range (tau > 0, finite
// cfg, top_p in [0, 1], top_k >= 0, uncond_until a scale), insertion layers that the model doesn't have, more
// scales than lvl_embed has rows.
Status CheckRequest(const PictureRequest& request, const ModelInfo& model);

}  // namespace nextscale
