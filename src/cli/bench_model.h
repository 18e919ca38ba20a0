// Models of the published sizes for benches: shapes as data, and the tensors that such a model has, under
// their canonical names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_source.h"
#include "engine/model_info.h"
#include "kv/budget.h"

namespace nextscale {

// The names of the presets, smallest first: "infinity-125m", …
std::vector<std::string> BenchPresetNames();
// The model's shape: transformer, tokenizer and T5-XL. Errors: CallError that lists the names.
StatusOr<ModelInfo> BenchPreset(std::string_view name);

// The roles that the published ScaleKV budget files give a preset's blocks, [scales][depth]; of fewer blocks,
// in proportion.
LayerFlags PresetDrafters(std::string_view name, int64_t scales, int64_t depth);

std::vector<TensorInfo> TransformerTensors(const TransformerConfig& config);
std::vector<TensorInfo> VaeTensors(const VaeConfig& config);
std::vector<TensorInfo> T5Tensors(const T5Config& config);

// All parts with random weights, made up as they are read.
ModelFiles RandomModel(const ModelInfo& info, const std::string& name);

}  // namespace nextscale
