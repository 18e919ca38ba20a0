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

KvCache::KvCache(const KvCacheShape& shape, DType dtype, MemoryLedger* ledger)
    : shape_(shape), streams_(shape.streams), dtype_(dtype), ledger_(ledger) {
  NS_CHECK(dtype == DType::kF32 || dtype == DType::kBF16, "a cache of {}", Name(dtype));
  const int64_t token_bytes = shape.head_dim * static_cast<int64_t>(SizeOf(dtype));
  range_bytes_ = (std::max<int64_t>(shape.capacity, 1) * token_bytes + kPage - 1) / kPage * kPage;
  const int64_t ranges = shape.layers * shape.streams * shape.heads;
  mapped_ = static_cast<size_t>(ranges * 2 * range_bytes_);
  void* p =
      ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  NS_CHECK(p != MAP_FAILED, "no address space for a cache of {} bytes", mapped_);
  base_ = static_cast<std::byte*>(p);
  heads_.resize(ranges);
  tokens_.resize(ranges);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    for (int64_t i = 0; i < shape.streams * shape.heads; ++i) {
      heads_[layer * shape.streams * shape.heads + i] = {Range(layer, i, 0), Range(layer, i, 1), 0};
    }
  }
}

KvCache::~KvCache() {
  ::munmap(base_, mapped_);
  if (ledger_) ledger_->Charge(Account::kKv, -bytes());
}

std::byte* KvCache::Range(int64_t layer, int64_t stream_head, int part) const {
  return base_ + ((layer * shape_.streams * shape_.heads + stream_head) * 2 + part) * range_bytes_;
}

std::span<const HeadKv> KvCache::Heads(int64_t layer) const {
  return std::span(heads_).subspan(layer * RangesOfLayer(), streams_ * shape_.heads);
}

void KvCache::SetLength(int64_t layer, int64_t stream_head, int64_t length) {
  HeadKv& head = heads_[layer * shape_.streams * shape_.heads + stream_head];
  const int64_t token_bytes = shape_.head_dim * static_cast<int64_t>(SizeOf(dtype_));
  const auto pages = [&](int64_t tokens) { return (tokens * token_bytes + kPage - 1) / kPage * kPage; };
  for (int part = 0; part < 2 && pages(length) < pages(head.length); ++part) {
    ::madvise(Range(layer, stream_head, part) + pages(length), pages(head.length) - pages(length),
              MADV_DONTNEED);
  }
  const int64_t change = 2 * (length - head.length) * token_bytes;
  head.length = length;
  bytes_.fetch_add(change, std::memory_order_relaxed);
  if (ledger_) ledger_->Charge(Account::kKv, change);
}

int64_t KvCache::CheckedHeads(const CurrentKeys& current) const {
  const int64_t streams = current.k.dim(0);
  NS_CHECK(current.k.dtype() == dtype_ && current.v.dtype() == dtype_ &&
               current.k.shape() == current.v.shape() && streams <= streams_ &&
               current.k.shape() == Shape({streams, shape_.heads, current.k.dim(2), shape_.head_dim}),
           "keys {} for {} streams, {} heads of {}", ToString(current.k.shape()), streams_, shape_.heads,
           shape_.head_dim);
  return streams * shape_.heads;
}

void KvCache::Append(int64_t layer, const CurrentKeys& current) {
  const int64_t n = current.k.dim(2), token_bytes = shape_.head_dim * static_cast<int64_t>(SizeOf(dtype_));
  ParallelFor(CheckedHeads(current), [&](int64_t i, int) {
    const int64_t held = heads_[layer * RangesOfLayer() + i].length;
    NS_CHECK(held + n <= shape_.capacity, "{} + {} tokens, room for {}", held, n, shape_.capacity);
    std::memcpy(Range(layer, i, 0) + held * token_bytes, current.k.raw() + i * n * token_bytes,
                n * token_bytes);
    std::memcpy(Range(layer, i, 1) + held * token_bytes, current.v.raw() + i * n * token_bytes,
                n * token_bytes);
    const std::vector<int32_t>& tokens = current.tokens_B[i / shape_.heads];
    std::vector<int32_t>& all = tokens_[layer * RangesOfLayer() + i];
    all.insert(all.end(), tokens.begin(), tokens.end());
    SetLength(layer, i, held + n);
  });
}

void KvCache::Keep(int64_t layer, const CurrentKeys& current, std::span<const std::vector<int32_t>> keep_BH) {
  const int64_t ranges = CheckedHeads(current), n = current.k.dim(2),
                token_bytes = shape_.head_dim * static_cast<int64_t>(SizeOf(dtype_));
  NS_CHECK_EQ(static_cast<int64_t>(keep_BH.size()), ranges);
  ParallelFor(ranges, [&](int64_t i, int) {
    const std::vector<int32_t>& keep = keep_BH[i];
    const std::vector<int32_t>& tokens = current.tokens_B[i / shape_.heads];
    std::vector<int32_t>& all = tokens_[layer * RangesOfLayer() + i];
    const int64_t held = heads_[layer * RangesOfLayer() + i].length, kept = static_cast<int64_t>(keep.size());
    NS_CHECK(kept <= shape_.capacity && (keep.empty() || keep.back() < held + n), "{} tokens kept of {} + {}",
             kept, held, n);
    for (int part = 0; part < 2; ++part) {
      std::byte* to = Range(layer, i, part);
      const std::byte* fresh = (part == 0 ? current.k : current.v).raw() + i * n * token_bytes;
      for (int64_t j = 0; j < kept;
           ++j) {  // keep[j] >= j, so moving forward overwrites nothing that is still to be read
        const std::byte* from =
            keep[j] < held ? to + keep[j] * token_bytes : fresh + (keep[j] - held) * token_bytes;
        if (from != to + j * token_bytes) std::memcpy(to + j * token_bytes, from, token_bytes);
      }
    }
    std::vector<int32_t> numbers(kept);
    for (int64_t j = 0; j < kept; ++j) numbers[j] = keep[j] < held ? all[keep[j]] : tokens[keep[j] - held];
    all = std::move(numbers);
    SetLength(layer, i, kept);
  });
}

void KvCache::KeepStreams(int64_t n) {
  for (int64_t layer = 0; layer < shape_.layers; ++layer) {
    for (int64_t i = n * shape_.heads; i < streams_ * shape_.heads; ++i) {
      tokens_[layer * RangesOfLayer() + i] = {};
      SetLength(layer, i, 0);
    }
  }
  streams_ = n;
}

std::span<const int32_t> KvCache::Tokens(int64_t layer, int64_t stream, int64_t head) const {
  return tokens_[(layer * shape_.streams + stream) * shape_.heads + head];
}

int64_t KvCache::LayerBytes(int64_t layer) const {
  int64_t tokens = 0;
  for (const HeadKv& head : Heads(layer)) tokens += head.length;
  return tokens * 2 * shape_.head_dim * static_cast<int64_t>(SizeOf(dtype_));
}

int64_t KvCache::TokensHeld(int64_t layer) const {
  int64_t most = 0;
  for (const HeadKv& head : Heads(layer)) most = std::max(most, head.length);
  return most;
}

}  // namespace nextscale
