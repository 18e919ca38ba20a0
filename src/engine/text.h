// Prompts to text rows: tokenizer and text encoder, for all prompts of a run at once.
#pragma once

#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "checkpoint/model_files.h"
#include "engine/model_info.h"

namespace nextscale {

struct PromptText {
  std::vector<int32_t> ids;  // with the closing </s>
  bool cut = false;          // the prompt was longer than the model reads
  Tensor rows;               // [ids, text width] f32: the text encoder's output
};

// Equal prompts are encoded once each: result i belongs to prompts[i] and the list is to be de-duplicated by
// the caller if it matters. Errors: CallError for text that is not UTF-8; FileError, WorkError, Interrupted
// as the encoder's.
StatusOr<std::vector<PromptText>> EncodePrompts(const ModelFiles& files, const ModelInfo& info,
                                                const std::vector<std::string>& prompts, DType dtype,
                                                const OpContext& ops, const CancelToken* cancel);

}  // namespace nextscale
