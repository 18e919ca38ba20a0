#include "model/text/tokenizer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"
#include "model/text/charsmap_check.h"
#include "model/text/sentencepiece_model.h"

namespace nextscale {
namespace {

constexpr int kPad = 0, kEnd = 1, kUnknown = 2;

}  // namespace

class Tokenizer::Impl {
 public:
  std::unique_ptr<const SentencePieceModel> model;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromBytes(std::string_view bytes, std::string_view where) {
  constexpr std::string_view kTry = "use the spiece.model that was published with the text encoder";
  std::string error = CharsMapProblem(bytes);
  auto model = error.empty() ? SentencePieceModel::Load(bytes, &error) : nullptr;
  if (!model)
    return FileError(fmt::format("{}: the tokenizer is not a sentencepiece model", where), error, kTry);
  if (model->pad_id() != kPad || model->eos_id() != kEnd || model->unk_id() != kUnknown) {
    return FileError(fmt::format("{}: the tokenizer is not one of T5", where),
                     fmt::format("expected pad {}, end {}, unknown {}, found {}, {}, {}", kPad, kEnd,
                                 kUnknown, model->pad_id(), model->eos_id(), model->unk_id()),
                     kTry);
  }
  auto impl = std::make_unique<Impl>();
  impl->model = std::move(model);
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

StatusOr<Tokenizer::Tokens> Tokenizer::Encode(std::string_view prompt, int64_t limit) const {
  NS_CHECK(limit >= 1, "limit {}", limit);
  if (const size_t at = FirstInvalidUtf8(prompt); at != std::string_view::npos) {
    return CallError("the prompt is not valid UTF-8",
                     fmt::format("byte 0x{:02x} at offset {}", static_cast<unsigned char>(prompt[at]), at),
                     "save or send the prompt as UTF-8");
  }
  std::vector<int> pieces;
  std::string error;
  if (!impl_->model->Encode(prompt, &pieces, &error))
    return WorkError("the prompt can't be tokenised", error);
  Tokens tokens;
  tokens.cut = static_cast<int64_t>(pieces.size()) > limit - 1;
  if (tokens.cut) pieces.resize(limit - 1);
  tokens.ids.assign(pieces.begin(), pieces.end());
  tokens.ids.push_back(kEnd);
  return tokens;
}

int64_t Tokenizer::vocabulary() const { return impl_->model->pieces(); }

}  // namespace nextscale
