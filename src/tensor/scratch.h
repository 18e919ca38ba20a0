// Working memory of ops, kept between calls: fresh pages cost more than many ops.
#pragma once

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "tensor/memory.h"

namespace nextscale {

// One growing buffer a thread, and one that all threads of a call share. Contents do not outlive the op that
// asked for them.
class Scratch {
 public:
  Scratch(int threads, MemoryLedger* ledger) : per_thread_(threads), use_{ledger, Account::kScratch} {}

  std::byte* ForThread(int thread, size_t bytes) {
    NS_CHECK(thread >= 0 && thread < static_cast<int>(per_thread_.size()), "thread {} of {}", thread,
             per_thread_.size());
    return Grown(per_thread_[thread], bytes);
  }
  std::byte* Shared(size_t bytes) { return Grown(shared_, bytes); }  // outside parallel regions only
  int threads() const { return static_cast<int>(per_thread_.size()); }
  void Clear() {
    for (Buffer& b : per_thread_) b.Reset();
    shared_.Reset();
  }

 private:
  std::byte* Grown(Buffer& buffer, size_t bytes) {
    if (buffer.size() < bytes) {
      buffer.Reset();
      buffer = Buffer(std::max(bytes, size_t{1} << 16), use_);
    }
    return buffer.data();
  }
  std::vector<Buffer> per_thread_;
  Buffer shared_;
  MemoryUse use_;
};

}  // namespace nextscale
