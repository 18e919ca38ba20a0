// The keys and values that self-attention looks back at: rotated keys, and values, of the maps before the current one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention.h"
#include "tensor/tensor.h"

namespace nextscale {

struct KvCacheShape {
  int64_t layers = 0, streams = 0, heads = 0, head_dim = 0;
  int64_t capacity = 0;  // most tokens a (layer, stream, head) will ever hold
};

// Each (layer, stream, head) has its own length and its own address range of `capacity` tokens, of which only the pages in use are backed
// by memory. The current map is attended from the activations, so that of the last map nothing is ever stored.
class KvCache {
 public:
  // `dtype` of keys and values: kF32 or kBF16. Charges Account::kKv with the bytes of the tokens held.
  KvCache(const KvCacheShape& shape, DType dtype, MemoryLedger* ledger);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  const KvCacheShape& shape() const { return shape_; }
  // What attention reads for a layer: [streams * heads], stream outermost.
  std::span<const HeadKv> Heads(int64_t layer) const;
  // Adds the current map's tokens of all streams; k, v [streams, heads, n, D] of the cache's dtype.
  void Append(int64_t layer, ConstView k, ConstView v);
  // Tokens of the longest head of a layer.
  int64_t TokensHeld(int64_t layer) const;
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* Range(int64_t layer, int64_t stream_head, int part) const;  // part 0: keys, 1: values

  KvCacheShape shape_;
  DType dtype_;
  MemoryLedger* ledger_;
  int64_t range_bytes_;             // of one (layer, stream, head)'s keys, in whole pages
  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  std::vector<HeadKv> heads_;       // [layers, streams, heads]
  int64_t bytes_ = 0;
};

}  // namespace nextscale
