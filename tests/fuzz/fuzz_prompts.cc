// A file of prompts: a prompt or a JSON object a line.
#include <cstdlib>
#include <sstream>

#include "cli/prompt_lines.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto lines = nextscale::ParsePromptLines(in, "prompts.jsonl");
  if (lines.ok() ? lines->empty() : lines.status().message().empty()) std::abort();
  return 0;
}
