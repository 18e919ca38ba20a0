// A request to stop, set from a signal handler or another thread and looked at between layers.
#pragma once

#include <atomic>

namespace nextscale {

class CancelToken {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace nextscale
