#include "tensor/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr size_t kOwnMapping = size_t{1} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

int64_t StatusField(const char* field) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (!file) return 0;
  char line[256];
  int64_t kib = 0;
  while (std::fgets(line, sizeof line, file)) {
    if (std::strncmp(line, field, std::strlen(field)) == 0) kib = std::atoll(line + std::strlen(field) + 1);
  }
  std::fclose(file);
  return kib * 1024;
}

}  // namespace

std::string_view Name(Account account) {
  constexpr std::array<std::string_view, kAccounts> kNames = {"weights", "kv",          "text_kv",
                                                              "prune",   "activations", "scratch"};
  return kNames[static_cast<int>(account)];
}

void MemoryLedger::Counter::Add(int64_t bytes) {
  const int64_t now = current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

void MemoryLedger::ResetPeaks() {
  for (Counter& counter : accounts_) counter.peak = counter.current.load();
  total_.peak = total_.current.load();
}

void MemoryLedger::Charge(Account account, int64_t bytes) {
  accounts_[Index(account)].Add(bytes);
  total_.Add(bytes);
}

Buffer::Buffer(size_t bytes, MemoryUse use) : size_(bytes), use_(use) {
  if (bytes == 0) return;
  if (bytes >= kOwnMapping) {
    void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NS_CHECK(p != MAP_FAILED, "out of memory: {} bytes for {}", bytes, Name(use.account));
    if (bytes >= kHugePage)
      ::madvise(p, bytes, MADV_HUGEPAGE);  // a quarter of a run went into faults of small pages
    data_ = static_cast<std::byte*>(p);
  } else {
    data_ = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    NS_CHECK(data_ != nullptr, "out of memory: {} bytes for {}", bytes, Name(use.account));
  }
  if (use_.ledger) use_.ledger->Charge(use_.account, static_cast<int64_t>(bytes));
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Reset();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    use_ = other.use_;
  }
  return *this;
}

void Buffer::Reset() {
  if (!data_) return;
  if (size_ >= kOwnMapping) {
    ::munmap(data_, size_);
  } else {
    std::free(data_);
  }
  if (use_.ledger) use_.ledger->Charge(use_.account, -static_cast<int64_t>(size_));
  data_ = nullptr;
  size_ = 0;
}

int64_t ResidentBytes() { return StatusField("VmRSS:"); }
int64_t PeakResidentBytes() { return StatusField("VmHWM:"); }

void ResetPeakResident() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace nextscale
