#include "kv/cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/threads.h"

namespace nextscale {
namespace {

constexpr int64_t kPage = 4096;

}  // namespace

KvCache::KvCache(const KvCacheShape& shape, DType dtype, MemoryLedger* ledger) : shape_(shape), dtype_(dtype), ledger_(ledger) {
  NS_CHECK(dtype == DType::kF32 || dtype == DType::kBF16, "a cache of {}", Name(dtype));
  const int64_t token_bytes = shape.head_dim * static_cast<int64_t>(SizeOf(dtype));
  range_bytes_ = (std::max<int64_t>(shape.capacity, 1) * token_bytes + kPage - 1) / kPage * kPage;
  const int64_t ranges = shape.layers * shape.streams * shape.heads;
  mapped_ = static_cast<size_t>(ranges * 2 * range_bytes_);
  void* p = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  NS_CHECK(p != MAP_FAILED, "no address space for a cache of {} bytes", mapped_);
  base_ = static_cast<std::byte*>(p);
  heads_.resize(ranges);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    for (int64_t i = 0; i < shape.streams * shape.heads; ++i) {
      heads_[layer * shape.streams * shape.heads + i] = {Range(layer, i, 0), Range(layer, i, 1), 0};
    }
  }
}

KvCache::~KvCache() {
  ::munmap(base_, mapped_);
  if (ledger_) ledger_->Charge(Account::kKv, -bytes_);
}

std::byte* KvCache::Range(int64_t layer, int64_t stream_head, int part) const {
  return base_ + ((layer * shape_.streams * shape_.heads + stream_head) * 2 + part) * range_bytes_;
}

std::span<const HeadKv> KvCache::Heads(int64_t layer) const {
  const int64_t n = shape_.streams * shape_.heads;
  return std::span(heads_).subspan(layer * n, n);
}

void KvCache::Append(int64_t layer, ConstView k, ConstView v) {
  const int64_t ranges = shape_.streams * shape_.heads, n = k.dim(2), D = shape_.head_dim;
  NS_CHECK(k.dtype() == dtype_ && v.dtype() == dtype_ && k.shape() == v.shape() && k.shape() == Shape({shape_.streams, shape_.heads, n, D}),
           "keys {} for {} streams, {} heads of {}", ToString(k.shape()), shape_.streams, shape_.heads, D);
  const int64_t token_bytes = D * static_cast<int64_t>(SizeOf(dtype_));
  ParallelFor(ranges, [&](int64_t i, int) {
    HeadKv& head = heads_[layer * ranges + i];
    NS_CHECK(head.length + n <= shape_.capacity, "{} + {} tokens, room for {}", head.length, n, shape_.capacity);
    std::memcpy(Range(layer, i, 0) + head.length * token_bytes, k.raw() + i * n * token_bytes, n * token_bytes);
    std::memcpy(Range(layer, i, 1) + head.length * token_bytes, v.raw() + i * n * token_bytes, n * token_bytes);
    head.length += n;
  });
  const int64_t added = 2 * ranges * n * token_bytes;
  bytes_ += added;
  if (ledger_) ledger_->Charge(Account::kKv, added);
}

int64_t KvCache::TokensHeld(int64_t layer) const {
  int64_t most = 0;
  for (const HeadKv& head : Heads(layer)) most = std::max(most, head.length);
  return most;
}

}  // namespace nextscale
