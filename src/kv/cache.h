// The keys and values that self-attention looks back at: rotated keys, and values, of the maps before the
// current one.
#pragma once

#include <atomic>
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

// The keys and values that a scale adds, as attention used them. What a cache is given of a layer may leave
// out the last streams, of which it then keeps what it has.
struct CurrentKeys {
  ConstView k, v;  // [streams, heads, n, D] of the cache's dtype
  std::span<const std::vector<int32_t>>
      tokens_B;  // [streams]: the n tokens' numbers, counted through all maps
};

// Each (layer, stream, head) has its own length and its own address range of `capacity` tokens, of which only
// the pages in use are backed by memory. The current map is attended from the activations, so that of the
// last map nothing is ever stored.
class KvCache {
 public:
  // `dtype` of keys and values: kF32 or kBF16. Charges Account::kKv with the bytes of the tokens held.
  KvCache(const KvCacheShape& shape, DType dtype, MemoryLedger* ledger);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  const KvCacheShape& shape() const { return shape_; }
  int64_t streams() const { return streams_; }
  // What attention reads for a layer: [streams * heads], stream outermost.
  std::span<const HeadKv> Heads(int64_t layer) const;
  // Adds the current map's tokens.
  void Append(int64_t layer, const CurrentKeys& current);
  // Of what is cached and then current, keeps for each (stream, head) the places given, ascending; what is
  // dropped gives its memory back at once. keep_BH [streams * heads].
  void Keep(int64_t layer, const CurrentKeys& current, std::span<const std::vector<int32_t>> keep_BH);
  // Frees all that streams from n on hold, for good: the cache then has n streams.
  void KeepStreams(int64_t n);

  // Numbers of the tokens that a head holds, counted through all maps; ascending.
  std::span<const int32_t> Tokens(int64_t layer, int64_t stream, int64_t head) const;
  // Tokens of the longest head of a layer.
  int64_t TokensHeld(int64_t layer) const;
  int64_t LayerBytes(int64_t layer) const;
  // Bytes of the keys and values held.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::byte* Range(int64_t layer, int64_t stream_head, int part) const;  // part 0: keys, 1: values
  // Room for `length` tokens of a head is in use from now on; pages beyond go back to the system.
  void SetLength(int64_t layer, int64_t stream_head, int64_t length);

  // (stream, head) pairs of what a scale adds, which fits.
  int64_t CheckedHeads(const CurrentKeys& current) const;
  int64_t RangesOfLayer() const { return shape_.streams * shape_.heads; }

  KvCacheShape shape_;
  int64_t streams_;  // in use, of the shape's
  DType dtype_;
  MemoryLedger* ledger_;
  int64_t range_bytes_;  // of one (layer, stream, head)'s keys, in whole pages
  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  std::vector<HeadKv> heads_;                 // [layers, streams, heads]
  std::vector<std::vector<int32_t>> tokens_;  // likewise
  std::atomic<int64_t> bytes_{0};
};

}  // namespace nextscale
