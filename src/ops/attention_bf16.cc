// bf16 attention over a kernel of one instruction set: V packed once a (stream, head), then blocks of
// queries, both spread over threads.
#include <algorithm>

#include "ops/attention.h"
#include "ops/attention_internal.h"

namespace nextscale::attention {
namespace {

constexpr int64_t kPackTiles = 16;          // of V, a unit of work
constexpr int64_t kPackedBytes = 32 << 20;  // of V, about; more where each thread needs a head of its own

// Queries of a block: as many as the kernel takes (keys are then read least often), or fewer where threads
// would have nothing to do.
int64_t QueriesOfBlock(const AttentionArgs& args, int64_t threads, int64_t max_queries) {
  int64_t queries = max_queries;
  while (queries > 48 && args.B * args.H * ((args.L + queries - 1) / queries) < 4 * threads) queries /= 2;
  return queries;
}

void Zero(const QueryBlock& block) {
  for (int64_t i = 0; i < block.queries; ++i) {
    std::fill_n(static_cast<bf16_t*>(block.o) + i * block.stride, block.D, bf16_t());
  }
}

}  // namespace

int64_t PackedValueBytes(int64_t heads, int64_t S, int64_t D, int64_t threads) {
  const int64_t head_bytes =
      (S + kKeyTile - 1) / kKeyTile * kKeyTile * PaddedWidth(D) * static_cast<int64_t>(sizeof(bf16_t));
  return std::min(heads, std::max(threads, kPackedBytes / std::max<int64_t>(head_bytes, 1))) * head_bytes;
}

void InBf16(const AttentionArgs& args, const OpContext& ctx, const Bf16Kernel& kernel) {
  const int64_t heads = args.B * args.H, threads = ctx.scratch.threads();
  const int64_t queries = QueriesOfBlock(args, threads, kernel.max_queries);
  const int64_t blocks = (args.L + queries - 1) / queries;
  int64_t tiles = 0;  // of the longest head
  for (int64_t i = 0; i < heads; ++i)
    tiles = std::max(tiles, (KeysOf(args, i).total() + kKeyTile - 1) / kKeyTile);
  const int64_t head_bytes =
      std::max<int64_t>(tiles, 1) * PaddedWidth(args.D) * kKeyTile * static_cast<int64_t>(sizeof(bf16_t));
  // Heads at a time: enough blocks to keep the threads busy to the end, few enough to keep packed V small.
  const int64_t enough = (16 * threads + blocks - 1) / blocks;
  const int64_t group = std::min({heads, enough, std::max(threads, kPackedBytes / head_bytes)});
  std::byte* const packed = ctx.scratch.Shared(group * head_bytes);
  const size_t scratch_bytes = kernel.scratch_bytes(args.D);

  const int64_t packs = (tiles + kPackTiles - 1) / kPackTiles;
  for (int64_t first = 0; first < heads; first += group) {
    const int64_t n = std::min(group, heads - first);
    ParallelFor(n * packs, [&](int64_t i, int) {
      const Keys keys = KeysOf(args, first + i / packs);
      const int64_t begin = i % packs * kPackTiles;
      const int64_t end = std::min(begin + kPackTiles, (keys.total() + kKeyTile - 1) / kKeyTile);
      if (begin < end) kernel.pack_v(keys, args.D, begin, end - begin, packed + i / packs * head_bytes);
    });
    ParallelFor(n * blocks, [&](int64_t i, int thread) {
      QueryBlock block = QueryBlockOf(args, first + i / blocks, i % blocks, queries);
      if (block.keys.total() == 0) return Zero(block);
      block.packed_v = packed + i / blocks * head_bytes;
      block.scratch = ctx.scratch.ForThread(thread, scratch_bytes);
      kernel.attend(block);
    });
  }
}

}  // namespace nextscale::attention
