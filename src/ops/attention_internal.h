// What the implementations of attention share. Included by files compiled for one instruction set: plain
// structs only, so that no inline function of the standard library is compiled twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nextscale {

struct AttentionArgs;
struct OpContext;

namespace attention {

// The keys of one (stream, head): rows [0, length[0]) of the first segment, then those of the second. k and v
// point at rows of D elements.
struct Keys {
  const void* k[2] = {nullptr, nullptr};
  const void* v[2] = {nullptr, nullptr};
  int64_t length[2] = {0, 0};
  int64_t total() const { return length[0] + length[1]; }
};
Keys KeysOf(const AttentionArgs& args, int64_t stream_head);

// A run of queries of one (stream, head), the unit of work of a thread. Element types are the call's.
struct QueryBlock {
  Keys keys;
  const void* q = nullptr;  // [queries] rows of D elements, `stride` elements apart; o likewise
  void* o = nullptr;
  int64_t stride = 0;
  int64_t queries = 0;
  int64_t D = 0;
  float scale = 1.0f;
  const float* bias = nullptr;     // f32 arithmetic only: null, or [queries, keys.total()]
  const void* packed_v = nullptr;  // bf16 kernels only: what pack_v wrote
  std::byte* scratch = nullptr;    // aligned to 64
};
// Queries [index * max_queries, ...) of a head; packed_v and scratch are left to the caller.
QueryBlock QueryBlockOf(const AttentionArgs& args, int64_t stream_head, int64_t index, int64_t max_queries);

inline constexpr int64_t kMaxQueriesInF32 = 96;

// Bf16 kernels. V is packed once a (stream, head), in tiles of 32 keys, each [PaddedWidth(D)][32]; pads are
// zeros.
inline constexpr int64_t kKeyTile = 32;
constexpr int64_t PaddedWidth(int64_t D) { return (D + 31) / 32 * 32; }
struct Bf16Kernel {
  int64_t max_queries;                 // of a block
  size_t (*scratch_bytes)(int64_t D);  // of a block
  void (*pack_v)(const Keys& keys, int64_t D, int64_t first_tile, int64_t tiles, void* packed);
  void (*attend)(const QueryBlock& block);
};
const Bf16Kernel& Avx512Bf16Kernel();
const Bf16Kernel& AmxKernel();

// The scalar twin; any dtype.
void Reference(const AttentionArgs& args);
// f32 arithmetic on any machine; any dtype.
void InF32(const AttentionArgs& args, const OpContext& ctx);
// bf16 products and f32 sums.
void InBf16(const AttentionArgs& args, const OpContext& ctx, const Bf16Kernel& kernel);
// Shared scratch that InBf16 holds packed values in, at the most.
int64_t PackedValueBytes(int64_t heads, int64_t S, int64_t D, int64_t threads);

}  // namespace attention
}  // namespace nextscale
