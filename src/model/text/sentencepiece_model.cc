#include "model/text/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <exception>

namespace nextscale {

class SentencePieceModel::Impl {
 public:
  sentencepiece::SentencePieceProcessor processor;
};

SentencePieceModel::SentencePieceModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SentencePieceModel::~SentencePieceModel() = default;

std::unique_ptr<const SentencePieceModel> SentencePieceModel::Load(std::string_view bytes,
                                                                   std::string* error) {
  try {
    auto impl = std::make_unique<Impl>();
    if (const auto status = impl->processor.LoadFromSerializedProto(bytes); !status.ok()) {
      *error = status.ToString();
      return nullptr;
    }
    return std::unique_ptr<const SentencePieceModel>(new SentencePieceModel(std::move(impl)));
  } catch (const std::exception& e) {
    *error = e.what();
    return nullptr;
  }
}

bool SentencePieceModel::Encode(std::string_view text, std::vector<int>* ids, std::string* error) const {
  try {
    const auto status = impl_->processor.Encode(text, ids);
    if (!status.ok()) *error = status.ToString();
    return status.ok();
  } catch (const std::exception& e) {
    *error = e.what();
    return false;
  }
}

int SentencePieceModel::pieces() const { return impl_->processor.GetPieceSize(); }
int SentencePieceModel::pad_id() const { return impl_->processor.pad_id(); }
int SentencePieceModel::eos_id() const { return impl_->processor.eos_id(); }
int SentencePieceModel::unk_id() const { return impl_->processor.unk_id(); }

}  // namespace nextscale
