#include "model/activations.h"

#include <algorithm>

namespace nextscale {
namespace {

// Rows that are in the wide products at once, unless a single stream has more. 4,096 rows keep both cores of
// an AMX machine on one weight tile long enough; more would only take memory.
constexpr int64_t kGroupRows = 4096;

int64_t WideRows(const ActivationsShape& shape) {
  return std::min(shape.streams * shape.most_tokens, std::max(kGroupRows, shape.most_tokens));
}

// Bytes a row: qkv or the hidden row in the blocks' dtype, or the head's normed row in f32.
int64_t WideRowBytes(const TransformerConfig& c, DType dtype) {
  return std::max(std::max(3 * c.width, c.ffn) * static_cast<int64_t>(SizeOf(dtype)), 4 * c.width);
}

}  // namespace

Activations::Activations(const TransformerConfig& c, const ActivationsShape& shape, DType dtype,
                         MemoryLedger* ledger)
    : heads_(c.heads), head_dim_(c.head_dim()) {
  const MemoryUse use{ledger, Account::kActivations};
  const int64_t rows = shape.streams * shape.most_tokens;
  x_ = Tensor(DType::kF32, {rows, c.width}, use);
  h_ = Tensor(dtype, {rows, c.width}, use);
  q_ = Tensor(dtype, {rows, c.width}, use);
  k_ = Tensor(dtype, {rows, c.width}, use);
  v_ = Tensor(dtype, {rows, c.width}, use);
  wide_ = Tensor(DType::kU8, {WideRows(shape), WideRowBytes(c, dtype)}, use);
  if (c.swiglu) wide_gate_ = Tensor(dtype, {WideRows(shape), c.ffn}, use);
  ada_ = Tensor(DType::kF32, {shape.streams, 6 * c.width}, use);
}

View Activations::k(int64_t streams, int64_t tokens) {
  return k_.view().Rows(0, streams * tokens).Reshape({streams, heads_, tokens, head_dim_});
}
View Activations::v(int64_t streams, int64_t tokens) {
  return v_.view().Rows(0, streams * tokens).Reshape({streams, heads_, tokens, head_dim_});
}

View Activations::wide(int64_t rows, int64_t columns, DType dtype) {
  NS_CHECK(rows * columns * static_cast<int64_t>(SizeOf(dtype)) <= static_cast<int64_t>(wide_.bytes()),
           "{} rows of {}", rows, columns);
  return {wide_.view().raw(), dtype, {rows, columns}};
}
View Activations::wide_gate(int64_t rows, int64_t columns) {
  return wide_gate_.view().Rows(0, rows).Reshape({rows, columns});
}

int64_t Activations::GroupStreams(int64_t tokens) const {
  return std::max<int64_t>(1, wide_.dim(0) / tokens);
}

int64_t Activations::Bytes(const TransformerConfig& c, const ActivationsShape& shape, DType dtype) {
  const int64_t element = static_cast<int64_t>(SizeOf(dtype)), rows = shape.streams * shape.most_tokens;
  return rows * c.width * (4 + 4 * element) +
         WideRows(shape) * (WideRowBytes(c, dtype) + (c.swiglu ? c.ffn * element : 0)) +
         shape.streams * 6 * c.width * 4;
}

}  // namespace nextscale
