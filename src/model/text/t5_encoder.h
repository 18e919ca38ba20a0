// The T5 v1.1 encoder (infinity.md, "Text"). Its weights stream: layer by layer from the file through one
// layer's memory, all prompts together, since a run needs them once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "checkpoint/model_options.h"
#include "checkpoint/tensor_source.h"
#include "ops/context.h"

namespace nextscale {

struct T5Config {
  int64_t vocabulary = 0, width = 0, layers = 0, heads = 0, head_dim = 0, ffn = 0, buckets = 0;
  int64_t max_distance = 128;  // option text.relative_attention_max_distance
  float eps = 1e-6f;           // option text.layer_norm_epsilon

  // Shapes from the tensors; what they don't tell from `options` (ModelFiles::options).
  static StatusOr<T5Config> FromTensors(const TensorSource& source, const ModelOptions& options);
};

// Bucket of key - query (T5's bidirectional relative buckets), exact where the logarithm sits on a step.
int64_t RelativeBucket(int64_t key_minus_query, int64_t buckets, int64_t max_distance);

// ids of each prompt -> rows [n, width] f32 of each, independent of the others. `dtype`: type of the matrix
// products' operands. Errors: of reading; CallError for an id outside the vocabulary; WorkError naming the
// first layer that shows a NaN; Interrupted.
StatusOr<std::vector<Tensor>> EncodeText(const TensorSource& source, const T5Config& config, DType dtype,
                                         const std::vector<std::vector<int32_t>>& prompts,
                                         const OpContext& ctx, const CancelToken* cancel = nullptr);

// Most bytes that EncodeText holds, its result included, for plans.
int64_t T5WorkingBytes(const T5Config& config, DType dtype, int64_t prompts, int64_t longest);

}  // namespace nextscale
