// Token pruning (fastvar.md): which scales and layers run on some of their tokens, and what they keep. Knows
// sizes and scores only, no model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"

namespace nextscale {

struct PruneOptions {
  struct Ratio {
    int64_t scale = 0;
    double left_out = 0;  // share of the map's tokens; 1: the scale is skipped
  };
  std::vector<Ratio> ratios;      // empty: no pruning
  std::optional<int64_t> source;  // scale whose outputs restore what is left out; default: before the first
  std::optional<std::pair<int64_t, int64_t>> layers;  // first and last; default: LayersOfDepth

  bool Skips(int64_t scale) const;
};

// The published setting's layers 3..27 of 32, in proportion.
std::pair<int64_t, int64_t> LayersOfDepth(int64_t depth);

// Options resolved for a schedule's length and a model's depth.
class Pruner {
 public:
  Pruner() = default;  // prunes nothing
  // Errors: CallError for scales or layers that there are not, ratios outside [0, 1], a source that is
  // skipped, pruned, or not before the pruned scales, nothing left to run.
  static StatusOr<Pruner> Make(const PruneOptions& options, int64_t scales, int64_t depth);

  bool Skips(int64_t scale) const { return Ratio(scale) >= 1; }
  // How many of a map's n tokens run in a layer: n - floor(n * ratio).
  int64_t Kept(int64_t scale, int64_t layer, int64_t n) const;
  // Whether a layer's outputs at this scale are stored for later ones.
  bool Stores(int64_t scale, int64_t layer) const { return scale == source_ && PrunesLayer(layer); }
  // Whether this is the last scale that may read what a layer stored.
  bool IsLastReader(int64_t scale) const { return scale == last_reader_; }
  bool PrunesLayer(int64_t layer) const { return first_layer_ <= layer && layer <= last_layer_; }
  int64_t source() const { return source_; }  // -1: nothing is stored

 private:
  double Ratio(int64_t scale) const { return ratios_.empty() ? 0.0 : ratios_[scale]; }

  std::vector<double> ratios_;  // by scale
  int64_t first_layer_ = 0, last_layer_ = -1, source_ = -1, last_reader_ = -1;
};

// FastVAR's choice: the `keep` places with the highest scores, lower places first among equals; ascending.
std::vector<int32_t> SelectTokens(std::span<const float> scores, int64_t keep);

}  // namespace nextscale
