#include "cli/bench_variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/variants.h"

namespace nextscale {
namespace {

using json = nlohmann::ordered_json;

constexpr double kMiB = 1024.0 * 1024.0;

// Where a run's seconds went.
struct Shares {
  double transformer = 0, linear = 0, attention = 0, selection = 0, pruning = 0;
  double at_rates = 0;  // what linear layers and attention take at the first run's rates
};

double SecondsOf(const ProfileEntries& ops, std::string_view name) {
  const auto it = ops.find(name);
  return it == ops.end() ? 0 : it->second.seconds;
}

Shares SharesOf(const BenchVariant& v, const BenchVariant& first) {
  const ProfileEntries& ops = v.result.transformer.ops;
  Shares s{.transformer = v.result.transformer.seconds,
           .linear = SecondsOf(ops, "linear"),
           .attention = SecondsOf(ops, "attention"),
           .selection = SecondsOf(ops, "selection"),
           .pruning = SecondsOf(ops, "token_deviation") + SecondsOf(ops, "restore")};
  for (const char* op : {"linear", "attention"}) {
    const Profiler::Entry& of_first = first.result.transformer.ops.at(op);
    s.at_rates += ops.at(op).flop * of_first.seconds / of_first.flop;
  }
  return s;
}

int64_t KvPeak(const BenchVariant& v) { return v.result.account_peaks[static_cast<int>(Account::kKv)]; }

int64_t KvKept(const BenchVariant& v) {
  int64_t most = 0;
  for (const BenchScale& s : v.result.scales) most = std::max(most, s.kv_bytes);
  return most;
}

std::string ScalesText(const std::vector<BenchVariant>& variants) {
  std::string out = fmt::format("{:<32}", "seconds by map");
  for (const MapSize map : variants.front().settings.schedule.maps)
    out += fmt::format(" {:>7}", fmt::format("{}x{}", map.h, map.w));
  out += "\n";
  for (const BenchVariant& v : variants) {
    out += fmt::format("{:<32}", v.name);
    auto ran = v.result.scales.begin();
    for (int64_t k = 0; k < v.settings.schedule.scales(); ++k) {
      const bool skipped = ran == v.result.scales.end() || ran->scale != k;
      out += skipped ? fmt::format(" {:>7}", "-") : fmt::format(" {:>7.3f}", ran->seconds);
      if (!skipped) ++ran;
    }
    out += "\n";
  }
  return out;
}

}  // namespace

StatusOr<std::vector<BenchVariant>> BenchVariants(const BenchSettings& settings, const KvFlags& kv,
                                                  const PruneFlags& prune, KvPlans& plans,
                                                  const LayerFlags& roles) {
  std::vector<BenchVariant> out;
  for (const Variant& variant : ExpandVariants(kv, prune)) {
    BenchVariant v{.name = variant.name, .settings = settings};
    if (variant.kv.plan.empty() && !roles.empty()) {
      NS_ASSIGN_OR_RETURN(v.settings.kv, ParseKvFlags(variant.kv));
      v.settings.kv.drafters = roles;
    } else {
      NS_ASSIGN_OR_RETURN(v.settings.kv, plans.Resolve(variant.kv, settings.schedule.scales()));
    }
    NS_ASSIGN_OR_RETURN(v.settings.prune, ParsePruneFlags(variant.prune, settings.schedule.scales()));
    out.push_back(std::move(v));
  }
  return out;
}

json VariantsJson(const BenchMachine& machine, const std::vector<BenchVariant>& variants) {
  json out = MachineJson(machine);
  for (const BenchVariant& v : variants) {
    const Shares s = SharesOf(v, variants.front());
    json row = {{"name", v.name},
                {"seconds", s.transformer},
                {"linear_seconds", s.linear},
                {"attention_seconds", s.attention},
                {"selection_seconds", s.selection},
                {"pruning_seconds", s.pruning},
                {"seconds_at_first_rates", s.at_rates},
                {"kv_bytes", KvKept(v)},
                {"kv_peak", KvPeak(v)},
                {"planned_resident", v.planned_resident},
                {"peak_resident", v.result.peak_resident},
                {"scales", json::array()}};
    for (const BenchScale& scale : v.result.scales)
      row["scales"].push_back(
          {{"scale", scale.scale}, {"seconds", scale.seconds}, {"kv_bytes", scale.kv_bytes}});
    out["variants"].push_back(row);
  }
  return out;
}

std::string VariantsText(const BenchMachine& machine, const std::vector<BenchVariant>& variants) {
  const Shares full = SharesOf(variants.front(), variants.front());
  std::string out = MachineText(machine);
  out += fmt::format("{:<32} {:>9} {:>6} {:>9} {:>6} {:>9} {:>6} {:>7} {:>7} {:>8} {:>9} {:>9} {:>9} {:>9}\n",
                     "transformer", "seconds", "of 1st", "linear", "of 1st", "attention", "of 1st", "select%",
                     "prune%", "at rates", "KV MiB", "peak KV", "resident", "planned");
  for (const BenchVariant& v : variants) {
    const Shares s = SharesOf(v, variants.front());
    const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / kMiB; };
    out += fmt::format(
        "{:<32} {:>9.3f} {:>6.3f} {:>9.3f} {:>6.3f} {:>9.3f} {:>6.3f} {:>7.2f} {:>7.2f} {:>8.3f} {:>9.1f} "
        "{:>9.1f} {:>9.1f} {:>9.1f}\n",
        v.name, s.transformer, s.transformer / full.transformer, s.linear, s.linear / full.linear,
        s.attention, s.attention / full.attention, 100 * s.selection / s.transformer,
        100 * s.pruning / s.transformer, s.transformer / s.at_rates, mib(KvKept(v)), mib(KvPeak(v)),
        mib(v.result.peak_resident), mib(v.planned_resident));
  }
  return out + "\n" + ScalesText(variants);
}

}  // namespace nextscale
