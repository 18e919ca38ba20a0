// Time and work by name: what `bench` prints. A null profiler costs one branch.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace nextscale {

class Profiler {
 public:
  struct Entry {
    double seconds = 0;
    double flop = 0;   // 2 a multiply-add
    double bytes = 0;  // memory traffic, where an op states it
    int64_t calls = 0;
  };

  void Add(std::string_view name, double seconds, double flop, double bytes = 0);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  void Clear() { entries_.clear(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// Times its scope into `profiler` (may be null) under `name`. Used by the calling thread only, outside
// parallel regions.
class ProfileScope {
 public:
  ProfileScope(Profiler* profiler, std::string_view name, double flop = 0, double bytes = 0)
      : profiler_(profiler), name_(name), flop_(flop), bytes_(bytes) {
    if (profiler_) start_ = std::chrono::steady_clock::now();
  }
  ~ProfileScope() {
    if (profiler_)
      profiler_->Add(name_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(),
                     flop_, bytes_);
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profiler* profiler_;
  std::string_view name_;
  double flop_, bytes_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace nextscale
