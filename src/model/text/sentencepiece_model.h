// The sentencepiece library behind std types: its header declares absl::string_view and so can't meet
// abseil's in one file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nextscale {

class SentencePieceModel {
 public:
  // Null with `error` set if the bytes are no model.
  static std::unique_ptr<const SentencePieceModel> Load(std::string_view bytes, std::string* error);
  ~SentencePieceModel();

  // False with `error` set if the library refuses the text.
  bool Encode(std::string_view text, std::vector<int>* ids, std::string* error) const;
  int pieces() const;
  int pad_id() const;
  int eos_id() const;
  int unk_id() const;

 private:
  class Impl;
  explicit SentencePieceModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nextscale
