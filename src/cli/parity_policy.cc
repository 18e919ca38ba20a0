#include "cli/parity_policy.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"

namespace nextscale {
namespace {

using nlohmann::json;

// The public code's budget files: "Scale n", counted from 1, is what scale n finds in the cache; scales left
// out have no limit.
LayerTable FileBudgets(const json& file, size_t scales, int64_t depth) {
  LayerTable table(scales, std::vector<int64_t>(depth, std::numeric_limits<int64_t>::max()));
  for (size_t k = 0; k < scales; ++k) {
    const std::string scale = fmt::format("Scale {}", k + 1);
    if (!file.contains(scale)) continue;
    const json& row = file.at(scale);
    for (int64_t l = 0; l < depth; ++l) {
      table[k][l] = row.at(row.at(fmt::format("Block {}", l)).get<int>() ? "Max" : "Min").get<int64_t>();
    }
  }
  return table;
}

// Throws json's exceptions.
KvOptions Parse(const json& policy, const ParityCase& request, int64_t depth,
                const std::string& budget_file) {
  KvOptions kv;
  if (policy.contains("budget")) kv.budget_tokens = policy.at("budget").get<int64_t>();
  if (policy.contains("window")) kv.window = policy.at("window").get<int64_t>();
  if (policy.contains("refiner_budget")) kv.refiner_start = policy.at("refiner_budget").get<int64_t>();
  if (policy.contains("decay")) kv.decay = policy.at("decay").get<int64_t>();
  kv.sinks = policy.value("sinks", kv.sinks);
  kv.beta = policy.value("beta", kv.beta);
  kv.reference_start = policy.value("start", kv.reference_start);
  if (policy.contains("drafters")) {
    kv.drafters.assign(request.schedule.maps.size(), std::vector<bool>(depth, false));
    for (const json& pair : policy.at("drafters"))
      kv.drafters.at(pair.at(0).get<size_t>()).at(pair.at(1).get<size_t>()) = true;
  }
  if (!budget_file.empty())
    kv.file_budgets = FileBudgets(json::parse(budget_file), request.schedule.maps.size(), depth);
  return kv;
}

}  // namespace

StatusOr<KvOptions> PolicyOfCase(const ParityCase& request, int64_t depth) {
  const std::string where = request.folder + "/request.json";
  try {
    const json policy = json::parse(request.policy);
    std::string budget_file;
    if (policy.contains("file")) {
      NS_ASSIGN_OR_RETURN(budget_file,
                          ReadSmallFile(request.folder + "/" + policy.at("file").get<std::string>()));
    }
    KvOptions kv = Parse(policy, request, depth, budget_file);
    NS_ASSIGN_OR_RETURN(kv.policy, ParseKvPolicy(policy.at("name").get<std::string>()));
    return kv;
  } catch (const std::exception& e) {  // json's, or a drafter outside the table
    return FileError(where + ": its policy is not of golden form", e.what());
  }
}

}  // namespace nextscale
