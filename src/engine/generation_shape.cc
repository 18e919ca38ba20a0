#include "engine/generation_shape.h"

#include <algorithm>

namespace nextscale {

StatusOr<GenerationShape> ShapeOf(const ScaleSchedule& schedule, const PruneOptions& prune,
                                  const KvOptions& kv, int64_t depth) {
  GenerationShape shape;
  NS_ASSIGN_OR_RETURN(shape.pruner, Pruner::Make(prune, schedule.scales(), depth));
  LayerTable added(schedule.scales(), std::vector<int64_t>(depth));
  for (int64_t k = 0; k < schedule.scales(); ++k) {
    const int64_t tokens = schedule.maps[k].tokens();
    for (int64_t layer = 0; layer < depth; ++layer) added[k][layer] = shape.pruner.Kept(k, layer, tokens);
    if (!shape.pruner.Skips(k)) shape.most_tokens = std::max(shape.most_tokens, tokens);
  }
  NS_ASSIGN_OR_RETURN(shape.kv, MakeKvSetup(kv, schedule.maps, added));
  return shape;
}

}  // namespace nextscale
