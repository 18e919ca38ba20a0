#include "cli/variants.h"

#include "cli/flag_list.h"

namespace nextscale {
namespace {

std::vector<std::string> Items(const std::string& list, const std::string& otherwise) {
  std::vector<std::string> items;
  for (std::string_view item : SplitList(list.empty() ? otherwise : list)) items.emplace_back(item);
  return items;
}

std::vector<KvFlags> KvVariants(const KvFlags& kv) {
  const std::vector<std::string> policies = Items(kv.policy, "full");
  std::vector<KvFlags> out;
  for (const std::string& policy : policies) {
    const bool full = policy == "full";
    for (const std::string& budget : full ? std::vector<std::string>{""} : Items(kv.budget, "10%")) {
      KvFlags one = kv;
      one.policy = policy;
      one.budget = budget;
      if (policies.size() > 1 && !policy.starts_with("scalekv")) one.plan.clear();
      out.push_back(one);
    }
  }
  return out;
}

// A source or layers without ratios stay, for ParsePruneFlags to refuse.
std::vector<PruneFlags> PruneVariants(const PruneFlags& prune) {
  if (prune.preset.empty() && prune.ratios.empty()) return {prune};
  std::vector<PruneFlags> out;
  for (const std::string_view preset : SplitList(prune.preset)) {
    PruneFlags one{.preset = std::string(preset), .source = prune.source, .layers = prune.layers};
    if (preset == "none") one = {};
    out.push_back(one);
  }
  for (const std::string_view ratios : SplitList(prune.ratios, ';')) {
    out.push_back({.ratios = std::string(ratios), .source = prune.source, .layers = prune.layers});
  }
  return out;
}

std::string NameOf(const KvFlags& kv, const PruneFlags& prune) {
  std::string name = kv.policy;
  for (const std::string& part : {kv.budget, prune.preset, prune.ratios}) {
    if (!part.empty()) name += " " + part;
  }
  return name;
}

}  // namespace

std::vector<Variant> ExpandVariants(const KvFlags& kv, const PruneFlags& prune) {
  std::vector<Variant> out;
  for (const KvFlags& one_kv : KvVariants(kv)) {
    for (const PruneFlags& one_prune : PruneVariants(prune))
      out.push_back({.name = NameOf(one_kv, one_prune), .kv = one_kv, .prune = one_prune});
  }
  return out;
}

}  // namespace nextscale
