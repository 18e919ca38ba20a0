// Random weights that are made when they are read: models of any size, for benches, that take no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/tensor_source.h"

namespace nextscale {

// `tensors`: canonical names and shapes of a transformer, VAE or T5; types f32 or bf16. A value depends on
// seed, name and place alone, in whatever pieces it is read. Scales go by name, so that activations stay
// finite, attention is neither flat nor one-hot, and no term vanishes.
std::shared_ptr<const TensorSource> MakeSyntheticTensors(std::vector<TensorInfo> tensors, uint64_t seed);

}  // namespace nextscale
