// Which part of a model a file's tensors are, and their canonical names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_options.h"
#include "checkpoint/stored_tensors.h"

namespace nextscale {

enum class PartKind { kTransformer, kVae, kText };
std::string_view Name(PartKind kind);  // "transformer", "VAE", "text encoder"

// By keys. Nothing if they are of none of the three.
std::optional<PartKind> PartOf(const StoredFile& file);

struct CanonicalPart {
  std::vector<StoredTensor> tensors;
  ModelOptions options;  // block_chunks
  std::vector<std::string>
      passed_over;  // keys that nothing here needs or knows, but for those every file has
};

// block_chunks.{i}.module.{j}.… and blocks.{n}.… -> blocks.{n}.… with n = i * per_chunk + j; without
// zero_k_bias, quantizer masks, a T5's decoder and head. Errors: FileError if block numbers leave gaps.
StatusOr<CanonicalPart> Canonicalise(PartKind kind, StoredFile file);

}  // namespace nextscale
