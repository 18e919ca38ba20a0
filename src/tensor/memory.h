// Memory with accounts: each buffer is charged to one account of a ledger, so that a run can say what it
// holds and where its peak was.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace nextscale {

enum class Account { kWeights, kKv, kTextKv, kPrune, kActivations, kScratch };
inline constexpr int kAccounts = 6;
std::string_view Name(Account account);  // "weights", "kv", "text_kv", "prune", "activations", "scratch"

// Bytes held by account, and the most ever held. Safe to use from several threads.
class MemoryLedger {
 public:
  void Charge(Account account, int64_t bytes);  // negative gives back
  int64_t current(Account account) const {
    return accounts_[Index(account)].current.load(std::memory_order_relaxed);
  }
  int64_t peak(Account account) const {
    return accounts_[Index(account)].peak.load(std::memory_order_relaxed);
  }
  void ResetPeaks();  // to what is held now
  int64_t total_peak() const { return total_.peak.load(std::memory_order_relaxed); }

 private:
  struct Counter {
    std::atomic<int64_t> current{0}, peak{0};
    void Add(int64_t bytes);
  };
  static int Index(Account account) { return static_cast<int>(account); }
  std::array<Counter, kAccounts> accounts_;
  Counter total_;
};

// Where an allocation is charged.
struct MemoryUse {
  MemoryLedger* ledger = nullptr;  // may be null: not counted
  Account account = Account::kScratch;
};

// Owned bytes, aligned to 64, not initialised. From 1 MiB on a mapping of its own, so that freeing gives the
// pages back at once; with huge pages where the kernel grants them. Move only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(size_t bytes, MemoryUse use);
  ~Buffer() { Reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  void Reset();

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  MemoryUse use_;
};

int64_t ResidentBytes();      // now, of this process (VmRSS)
int64_t PeakResidentBytes();  // VmHWM
void ResetPeakResident();     // to what is resident now, where the system lets a program do that

}  // namespace nextscale
