// Working memory of one transformer pass, made once for the largest map of a run and used for all.
#pragma once

#include "model/config.h"
#include "tensor/tensor.h"

namespace nextscale {

struct ActivationsShape {
  int64_t streams = 0;      // B
  int64_t most_tokens = 0;  // L of the largest map
};

class Activations {
 public:
  Activations(const TransformerConfig& config, const ActivationsShape& shape, DType dtype,
              MemoryLedger* ledger);

  // Views for B streams of L tokens. x is f32, the others of the blocks' dtype.
  View x(int64_t rows) { return x_.view().Rows(0, rows); }  // [B*L, C] the residual stream
  View h(int64_t rows) { return h_.view().Rows(0, rows); }  // [B*L, C] normed input, attention's output
  View q(int64_t rows) { return q_.view().Rows(0, rows); }  // [B*L, C]
  View k(int64_t streams, int64_t tokens);                  // [B, H, L, D]
  View v(int64_t streams, int64_t tokens);
  // [rows, columns] of what is wider than C: qkv, the FFN's hidden rows; for as many whole streams as
  // GroupStreams() says.
  View wide(int64_t rows, int64_t columns, DType dtype);
  View wide_gate(int64_t rows, int64_t columns);  // SwiGLU's second one
  // How many streams of L tokens go through the wide products at once: bounds memory, not results.
  int64_t GroupStreams(int64_t tokens) const;
  View ada_B6C(int64_t streams) { return ada_.view().Rows(0, streams); }  // [B, 6*C] f32

  static int64_t Bytes(const TransformerConfig& config, const ActivationsShape& shape, DType dtype);

 private:
  int64_t heads_, head_dim_;
  Tensor x_, h_, q_, k_, v_, wide_, wide_gate_, ada_;
};

}  // namespace nextscale
