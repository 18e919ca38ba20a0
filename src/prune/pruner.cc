#include "prune/pruner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr double kPublishedDepth = 32, kPublishedFirst = 3, kPublishedEnd = 28;

bool PrunesSome(double ratio) { return ratio > 0 && ratio < 1; }

Status Bad(const std::string& what, const std::string& why) {
  return CallError(what, why,
                   "see `nextscale generate --help`, --prune-ratios, --prune-source, --prune-layers");
}

StatusOr<std::vector<double>> RatiosByScale(const PruneOptions& options, int64_t scales) {
  std::vector<double> ratios(scales, 0.0);
  for (const PruneOptions::Ratio& r : options.ratios) {
    if (r.scale < 0 || r.scale >= scales)
      return Bad(fmt::format("pruning of scale {}", r.scale),
                 fmt::format("this schedule has the scales 0 to {}", scales - 1));
    if (!(r.left_out >= 0 && r.left_out <= 1))
      return Bad(fmt::format("a pruning ratio of {}", r.left_out),
                 "expected 0 to 1, where 1 skips the scale");
    ratios[r.scale] = r.left_out;
  }
  if (ratios[0] > 0) return Bad("pruning of scale 0", "its only token is what the picture starts from");
  return ratios;
}

}  // namespace

std::pair<int64_t, int64_t> LayersOfDepth(int64_t depth) {
  const double part = static_cast<double>(depth) / kPublishedDepth;
  return {std::lround(kPublishedFirst * part), std::lround(kPublishedEnd * part) - 1};
}

bool PruneOptions::Skips(int64_t scale) const {
  return std::any_of(ratios.begin(), ratios.end(),
                     [&](const Ratio& r) { return r.scale == scale && r.left_out >= 1; });
}

StatusOr<Pruner> Pruner::Make(const PruneOptions& options, int64_t scales, int64_t depth) {
  Pruner p;
  NS_ASSIGN_OR_RETURN(p.ratios_, RatiosByScale(options, scales));
  const auto [first, last] = options.layers.value_or(LayersOfDepth(depth));
  if (first < 0 || last >= depth || (options.layers && first > last))
    return Bad(fmt::format("pruned layers {}-{}", first, last),
               fmt::format("the model has the layers 0 to {}", depth - 1));
  const auto pruned = std::find_if(p.ratios_.begin(), p.ratios_.end(), PrunesSome);
  if (pruned == p.ratios_.end()) return p;  // whole scales at most: nothing is restored

  const int64_t first_pruned = pruned - p.ratios_.begin();
  p.source_ = options.source.value_or(first_pruned - 1);
  if (p.source_ < 0 || p.source_ >= first_pruned)
    return Bad(fmt::format("restoring from scale {}", p.source_),
               fmt::format("it must run before the first pruned scale, which is {}", first_pruned));
  if (p.ratios_[p.source_] > 0)
    return Bad(fmt::format("restoring from scale {}", p.source_), "that scale is skipped itself");
  p.first_layer_ = first;
  p.last_layer_ = last;
  for (int64_t k = first_pruned; k < scales; ++k) {
    if (PrunesSome(p.ratios_[k])) p.last_reader_ = k;
  }
  return p;
}

int64_t Pruner::Kept(int64_t scale, int64_t layer, int64_t n) const {
  if (Skips(scale)) return 0;
  if (!PrunesLayer(layer)) return n;
  return n - static_cast<int64_t>(std::floor(static_cast<double>(n) * Ratio(scale)));
}

std::vector<int32_t> SelectTokens(std::span<const float> scores, int64_t keep) {
  NS_CHECK(keep >= 0 && keep <= static_cast<int64_t>(scores.size()), "{} of {} tokens", keep, scores.size());
  std::vector<int32_t> places(scores.size());
  std::iota(places.begin(), places.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  };
  std::nth_element(places.begin(), places.begin() + keep, places.end(), better);
  places.resize(keep);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace nextscale
