// Plan files and published budget files. A plan that is taken is written and read again.
#include <cstdlib>

#include "calibration/apply_plan.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
std::vector<std::string> Seeds() { return {"#plan", "#budgets"}; }
}  // namespace nextscale::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nextscale;
  const StatusOr<PlanFile> file = ParsePlanFile({reinterpret_cast<const char*>(data), size}, "plan");
  if (!file.ok()) {
    if (file.status().message().empty()) std::abort();
    return 0;
  }
  if (const Plan* plan = std::get_if<Plan>(&file->content)) {
    const std::string text = PlanText(*plan);
    const StatusOr<Plan> again = ParsePlan(text, "again");
    if (!again.ok() || PlanText(*again) != text) std::abort();
  }
  for (const int64_t scales : {2, 3, 13}) {
    KvOptions kv;
    if (!ApplyPlan(*file, scales, kv).ok() && std::holds_alternative<BudgetFile>(file->content)) std::abort();
  }
  return 0;
}
