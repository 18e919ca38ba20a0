// The T5 sentencepiece tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace nextscale {

class Tokenizer {
 public:
  // `model`: the bytes of spiece.model; `where`: named in errors.
  static StatusOr<std::unique_ptr<Tokenizer>> FromBytes(std::string_view model, std::string_view where);
  ~Tokenizer();

  struct Tokens {
    std::vector<int32_t> ids;  // the first limit - 1 pieces, then </s> (1)
    bool cut = false;          // pieces were left out
  };
  // Any bytes are a prompt: invalid UTF-8 is an error (CallError), an empty one gives the one token </s>.
  StatusOr<Tokens> Encode(std::string_view prompt, int64_t limit) const;
  int64_t vocabulary() const;

 private:
  class Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nextscale
