// See generate_report.h.
#include "cli/generate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/bench_flop.h"
#include "cli/bench_run.h"
#include "cli/format.h"
#include "cli/version.h"
#include "ops/machine_peak.h"

namespace nextscale {
namespace {

using json = nlohmann::ordered_json;

// The pruned layers: how many of the map's tokens each of their branches ran on.
json PrunedJson(const ScaleReport& s) {
  json out = json::array();
  for (size_t layer = 0; layer < s.tokens_run.size(); ++layer) {
    const int64_t kept = s.tokens_run[layer];
    if (kept == s.map.tokens()) continue;
    out.push_back(
        {{"layer", layer}, {"self_attention", kept}, {"cross_attention", kept}, {"feed_forward", kept}});
  }
  return out;
}

// Bytes of the drafters, then of the refiners.
std::pair<int64_t, int64_t> BytesByRole(const ScaleReport& s) {
  std::pair<int64_t, int64_t> bytes;
  for (size_t layer = 0; layer < s.drafters.size(); ++layer)
    (s.drafters[layer] ? bytes.first : bytes.second) += s.layer_kv_bytes[layer];
  return bytes;
}

json RolesJson(const ScaleReport& s) {
  json drafters = json::array();
  for (size_t layer = 0; layer < s.drafters.size(); ++layer) {
    if (s.drafters[layer]) drafters.push_back(layer);
  }
  const auto [of_drafters, of_refiners] = BytesByRole(s);
  return {{"drafters", drafters}, {"drafter_bytes", of_drafters}, {"refiner_bytes", of_refiners}};
}

json ScaleJson(const ScaleReport& s) {
  json out = {{"scale", s.scale},         {"map", {s.map.h, s.map.w}},
              {"tokens", s.map.tokens()}, {"seconds", s.seconds},
              {"kv_bytes", s.kv_bytes},   {"full_kv_bytes", s.full_kv_bytes},
              {"kv_tokens", s.kv_tokens}, {"layer_kv_bytes", s.layer_kv_bytes}};
  if (!s.drafters.empty()) out["roles"] = RolesJson(s);
  out["selection_seconds"] = s.selection_seconds;
  out["pruned"] = PrunedJson(s);
  return out;
}

// The scale that holds most.
const ScaleReport* LargestKv(const std::vector<ScaleReport>& scales) {
  const auto most =
      std::max_element(scales.begin(), scales.end(),
                       [](const ScaleReport& a, const ScaleReport& b) { return a.kv_bytes < b.kv_bytes; });
  return most == scales.end() ? nullptr : &*most;
}

int64_t FullKvPeak(const std::vector<ScaleReport>& scales) {
  int64_t most = 0;
  for (const ScaleReport& s : scales) most = std::max(most, s.full_kv_bytes);
  return most;
}

json AccountsJson(const std::vector<ScaleReport>& scales, const MemoryLedger& ledger) {
  json out = json::object();
  for (int a = 0; a < kAccounts; ++a) {
    const Account account = static_cast<Account>(a);
    json by_scale = json::array();
    for (const ScaleReport& s : scales) by_scale.push_back(s.account_bytes[a]);
    out[std::string(Name(account))] = {{"peak", ledger.peak(account)}, {"by_scale", by_scale}};
  }
  return out;
}

// Shares of the matrix peak that these stages are taken to reach; `nextscale bench` measures them. The VAE
// was seen at 0.8; a text encoder with few tokens is bound by reading its weights instead.
constexpr double kLinearShare = 0.8, kAttentionShare = 0.5, kVaeShare = 0.8, kTextShare = 0.4;

StatusOr<std::string> SecondsText(const GenerateTask& task) {
  const PlanRequest& r = task.plan.largest;
  const MachinePeak peak = MeasureMachinePeak(3);
  const auto flops = [&](DType type) { return peak.of(type).median * 1e9; };
  double transformer = 0, vae = 0;
  for (const std::vector<size_t>& batch : task.batches) {
    const Picture& first = task.pictures[batch[0]];
    NS_ASSIGN_OR_RETURN(const BenchWork work, WorkOf(task.info, {.schedule = first.request.schedule,
                                                                 .batch = static_cast<int64_t>(batch.size()),
                                                                 .guided = r.guided,
                                                                 .uncond_until = first.request.uncond_until,
                                                                 .types = r.types,
                                                                 .text_tokens = r.text_tokens,
                                                                 .repeat = 1,
                                                                 .threads = r.threads,
                                                                 .kv = first.kv,
                                                                 .prune = first.prune}));
    transformer +=
        (work.linear / kLinearShare + work.attention / kAttentionShare) / flops(r.types.transformer);
    vae += work.vae / kVaeShare / flops(r.types.vae);
  }
  const double text = static_cast<double>(r.prompts) * T5Flop(*task.info.text, r.text_tokens) / kTextShare /
                      flops(r.types.text);
  return fmt::format(
      "matrix peak here: f32 {:.0f}, bf16 {:.0f} GFLOP/s, {} threads\n"
      "seconds, about: text {:.1f}, transformer {:.1f}, VAE {:.1f} (loading not counted)\n",
      peak.f32.median, peak.bf16.median, r.threads, text, transformer, vae);
}

}  // namespace

json ReportJson(const GenerateTask& task, const RunReport& report, const MemoryLedger& ledger) {
  json out = {{"version", VersionNumber()},
              {"settings", SettingsJson(task.pictures.front(), task.run)},
              {"pictures", json::array()}};
  for (const size_t i : report.written) {
    const Picture& p = task.pictures[i];
    out["pictures"].push_back({{"file", p.output}, {"seed", p.request.seed}, {"prompt", p.request.prompt}});
  }
  const RunSeconds& s = report.seconds;
  out["seconds"] = {
      {"load", s.load}, {"text", s.text}, {"transformer", s.transformer}, {"vae", s.vae}, {"write", s.write}};
  out["scales"] = json::array();
  for (const ScaleReport& scale : report.scales) out["scales"].push_back(ScaleJson(scale));
  out["memory"] = {{"peak_resident", PeakResidentBytes()},
                   {"planned_peak", task.plan.memory.peak},
                   {"full_kv_peak", FullKvPeak(report.scales)},
                   {"accounts", AccountsJson(report.scales, ledger)}};
  return out;
}

std::string KvText(const std::vector<ScaleReport>& scales) {
  const ScaleReport* most = LargestKv(scales);
  const int64_t full = FullKvPeak(scales);
  if (!most || most->kv_bytes >= full) return "";
  double seconds = 0;
  for (const ScaleReport& s : scales) seconds += s.selection_seconds;
  std::string out =
      fmt::format("KV cache: at most {}, {:.1f}% of the full cache's {}", HumanBytes(most->kv_bytes),
                  100.0 * static_cast<double>(most->kv_bytes) / static_cast<double>(full), HumanBytes(full));
  if (const auto [drafters, refiners] = BytesByRole(*most); !most->drafters.empty())
    out += fmt::format("; drafters {}, refiners {}", HumanBytes(drafters), HumanBytes(refiners));
  return out + (seconds > 0 ? fmt::format("; selection {:.2f} s", seconds) : "");
}

StatusOr<std::string> PlanText(const GenerateTask& task) {
  const PlanRequest& r = task.plan.largest;
  const MemoryPlan& plan = task.plan.memory;
  const MapSize last = r.schedule.last();
  const int64_t pixels = task.info.pixels_per_token();
  std::string out = fmt::format(
      "model {}: transformer {}, VAE {}, text encoder {}\n"
      "{} pictures in {} batches; the largest batch: {} of {}x{} pixels, {} scales, {} tokens a picture\n\n",
      task.run.model, Name(r.types.transformer), Name(r.types.vae), Name(r.types.text), task.pictures.size(),
      task.batches.size(), r.batch, last.w * pixels, last.h * pixels, r.schedule.scales(),
      r.schedule.tokens());
  out += "memory by account, at its peak\n";
  for (int a = 0; a < kAccounts; ++a) {
    const bool part = a == static_cast<int>(Account::kKv) && plan.accounts[a] < plan.full_kv;
    out += fmt::format("  {:<12} {:>12}{}\n", Name(static_cast<Account>(a)), HumanBytes(plan.accounts[a]),
                       part ? fmt::format("  (the full cache: {})", HumanBytes(plan.full_kv)) : "");
  }
  out += "\nresident by phase\n";
  for (const MemoryPlan::Phase& phase : plan.phases)
    out += fmt::format("  {:<12} {:>12}\n", phase.name, HumanBytes(phase.bytes));
  out += fmt::format("  {:<12} {:>12}  ({} bytes)\n\n", "peak", HumanBytes(plan.peak), plan.peak);
  NS_ASSIGN_OR_RETURN(const std::string seconds, SecondsText(task));
  return out + seconds;
}

}  // namespace nextscale
