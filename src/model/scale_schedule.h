// Scale schedules: which token maps a picture of a given shape is generated through (infinity.md, "Scale
// schedules").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/map_size.h"

namespace nextscale {

// The maps of one request, coarsest first.
struct ScaleSchedule {
  double ratio = 1.0;  // key: height / width
  std::vector<MapSize> maps;
  MapSize rope_grid;  // last map of the ratio's 1M schedule, whatever the pixel budget

  int scales() const { return static_cast<int>(maps.size()); }
  int64_t tokens() const;  // of all maps
  int64_t tokens_before_last() const;
  MapSize last() const { return maps.back(); }
};

// The keys, in the order in which ties are decided: 1, 1.25, 0.8, 1.333, 0.75, ...
std::span<const double> ScheduleRatios();
// The 13 maps of the nearest key.
ScaleSchedule FullSchedule(double ratio);
// The first `scales` maps (1 to 13) of the schedule whose key is nearest to `ratio` (height / width).
ScaleSchedule MakeSchedule(double ratio, int scales);

// "0.06M" 7, "0.25M" 10, "0.60M" 12, "1M" 13. Errors: CallError that lists them.
StatusOr<int> ScalesOfPixels(std::string_view pixels);
std::string PixelsOfScales(int scales);  // the name, or "N scales"

// A latent's map for a token map: twice as high and wide with spatial patchify.
inline MapSize LatentMap(MapSize map, bool patchify) {
  return patchify ? MapSize{2 * map.h, 2 * map.w} : map;
}

}  // namespace nextscale
