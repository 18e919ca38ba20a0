#include "base/profiler.h"

namespace nextscale {

void Profiler::Add(std::string_view name, double seconds, double flop, double bytes) {
  auto it = entries_.find(name);
  if (it == entries_.end()) it = entries_.emplace(std::string(name), Entry{}).first;
  Entry& e = it->second;
  e.seconds += seconds;
  e.flop += flop;
  e.bytes += bytes;
  ++e.calls;
}

}  // namespace nextscale
