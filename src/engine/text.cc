#include "engine/text.h"

#include <utility>

#include "model/text/tokenizer.h"

namespace nextscale {

StatusOr<std::vector<PromptText>> EncodePrompts(const ModelFiles& files, const ModelInfo& info,
                                                const std::vector<std::string>& prompts, DType dtype,
                                                const OpContext& ops, const CancelToken* cancel) {
  if (!files.text || files.tokenizer.empty()) {
    return FileError("the model has no text encoder",
                     "a T5 folder with config.json, weights and spiece.model is needed",
                     "name it by --text-encoder");
  }
  NS_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::FromBytes(files.tokenizer, files.text->Describe()));
  const int64_t limit = info.transformer ? info.transformer->text_rows : 512;
  std::vector<std::vector<int32_t>> ids;
  std::vector<PromptText> out(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    NS_ASSIGN_OR_RETURN(Tokenizer::Tokens tokens,
                        tokenizer->Encode(prompts[i], std::min<int64_t>(limit, 512)));
    out[i].cut = tokens.cut;
    out[i].ids = tokens.ids;
    ids.push_back(std::move(tokens.ids));
  }
  NS_ASSIGN_OR_RETURN(std::vector<Tensor> rows, EncodeText(*files.text, *info.text, dtype, ids, ops, cancel));
  for (size_t i = 0; i < prompts.size(); ++i) out[i].rows = std::move(rows[i]);
  return out;
}

}  // namespace nextscale
