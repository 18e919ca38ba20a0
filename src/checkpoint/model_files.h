// Finds the parts of a model in the files people have: a package, a folder of published files, or parts named
// one by one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/model_options.h"
#include "checkpoint/tensor_source.h"

namespace nextscale {

struct ModelPaths {
  std::string model;  // a package, or a folder whose parts are recognised by their keys; may be empty if
                      // parts are named
  std::string transformer;  // file, sharded folder or index json; these three go before what `model` holds
  std::string vae;
  std::string text_encoder;  // a Hugging Face T5 folder
  ModelOptions options;      // --option NAME=VALUE
};

// What was found. Parts that are not there are null; who needs one says so. Nothing is read but headers and
// small files.
struct ModelFiles {
  std::shared_ptr<const TensorSource>
      transformer;  // canonical: "blocks.{n}.…" whatever the chunking; no zero_k_bias
  std::shared_ptr<const TensorSource> vae;   // "encoder.…", "decoder.…"; no quantizer masks
  std::shared_ptr<const TensorSource> text;  // "shared.weight", "encoder.…"; no decoder, no lm_head
  std::string tokenizer;                     // the sentencepiece model's bytes
  std::string plan;                          // plan.json of a package, or empty
  // What no tensor tells: add_lvl_embeding_only_first_block, rope2d_normalized_by_hw, apply_spatial_patchify,
  // block_chunks, text.relative_attention_max_distance, text.layer_norm_epsilon, trained_pixels, … Published
  // defaults are not filled in.
  ModelOptions options;
  std::vector<std::string> notes;   // e.g. the keys that were passed over, once
  std::string name;                 // for reports: the package's or folder's name
  std::vector<std::string> inputs;  // every file that was opened or is mapped
};

StatusOr<ModelFiles> OpenModel(const ModelPaths& paths);

}  // namespace nextscale
