// Weights that are made up as they are read: models of true size without files, for benches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/model_files.h"
#include "cli/bench_model.h"

namespace nextscale {

// Matrices of random values that keep activations near 1, norms near 1, small vectors. Nothing is held in
// memory.
std::shared_ptr<const TensorSource> RandomWeights(std::vector<TensorInfo> tensors, std::string name);

// All parts of a preset.
ModelFiles RandomModel(const ModelInfo& info, const std::string& name);

}  // namespace nextscale
