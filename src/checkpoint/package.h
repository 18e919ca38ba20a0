// A package: one safetensors file with all parts of a model (prefixes "transformer.", "vae.", "text."), U8
// tensors "tokenizer.spiece" and optionally "plan.json", and `__metadata__`.`nextscale` = JSON {version,
// options, trained pixels, types, presets}.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/model_files.h"

namespace nextscale {

struct PackageOptions {
  // How each part's matrices (convolutions too) are stored: kF32 or kBF16. Vectors stay f32, with them what
  // has several dimensions but a first one of 1 (ada_gss, pos_start, scale_mul_1H11, the pooling queries).
  DType transformer = DType::kBF16, vae = DType::kF32, text = DType::kBF16;
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;  // may be empty
};

// Streams `files` into a package at `path`: written under a temporary name beside it, then renamed. Never
// overwrites one of its inputs.
Status WritePackage(const ModelFiles& files, const PackageOptions& options, const std::string& path);

}  // namespace nextscale
