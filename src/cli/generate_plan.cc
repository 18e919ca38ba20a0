// Memory of a run's batches before anything is loaded (generate_task.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/threads.h"
#include "cli/format.h"
#include "cli/generate_task.h"

namespace nextscale {
namespace {

// A preview decodes beside all that the transformer holds.
void AddPreviewPhase(MemoryPlan& plan) {
  int64_t transformer = 0, vae = 0;
  for (const MemoryPlan::Phase& phase : plan.phases) {
    if (phase.name == "transformer") transformer = phase.bytes;
    if (phase.name == "vae") vae = phase.bytes;
  }
  const int64_t weights = plan.accounts[static_cast<int>(Account::kWeights)];
  plan.phases.push_back({"preview", transformer + std::max<int64_t>(vae - weights, 0)});
  plan.peak = std::max(plan.peak, plan.phases.back().bytes);
}

// Cheaper and cheaper settings, as flags and what they ask.
std::vector<std::pair<std::string, PlanRequest>> CheaperSettings(PlanRequest r) {
  std::vector<std::pair<std::string, PlanRequest>> out;
  std::string flags;
  const auto add = [&](const std::string& flag) {
    flags += (flags.empty() ? "" : " ") + flag;
    out.emplace_back(flags, r);
  };
  if (r.batch > 1) {
    r.batch = 1;
    add("--batch 1");
  }
  const EngineTypes& t = r.types;
  if (t.transformer != DType::kBF16 || t.vae != DType::kBF16 || t.text != DType::kBF16) {
    r.types = {.transformer = DType::kBF16, .vae = DType::kBF16, .text = DType::kBF16};
    add("--type bf16");
  }
  const std::string before = flags;
  for (const int scales : {12, 10, 7}) {
    if (scales >= r.schedule.scales()) continue;
    r.schedule = MakeSchedule(r.schedule.ratio, scales);
    flags = before;
    add("--pixels " + PixelsOfScales(scales));
  }
  return out;
}

// Batches of one kind need the same memory.
std::string KindOf(const Picture& p, size_t pictures, bool guided, int64_t uncond_until) {
  const KvFlags& kv = p.kv_flags;
  const PruneFlags& prune = p.prune_flags;
  const std::vector<std::string> texts = {kv.policy,    kv.budget,    kv.plan,      kv.type,     kv.options,
                                          prune.preset, prune.ratios, prune.source, prune.layers};
  return fmt::format("{} {} {} {} {} {}", p.request.schedule.ratio, p.request.schedule.scales(), pictures,
                     guided, uncond_until, fmt::join(texts, "\n"));
}

StatusOr<MemoryPlan> PlanOne(const ModelInfo& info, const PlanRequest& request, bool preview) {
  NS_ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(info, request));
  if (preview) AddPreviewPhase(plan);
  return plan;
}

}  // namespace

StatusOr<RunPlan> PlanBatches(const ModelInfo& info, const std::vector<Picture>& pictures,
                              const Batches& batches, const TextSet& texts, const EngineTypes& types,
                              bool preview) {
  RunPlan out;
  std::set<std::string> planned;  // a run may have very many batches of few kinds
  for (const std::vector<size_t>& batch : batches) {
    const Picture& first = pictures[batch[0]];
    const ScaleSchedule& schedule = first.request.schedule;
    bool guided = false;
    int uncond_until = 0;
    for (const size_t i : batch) {
      const PictureRequest& r = pictures[i].request;
      guided |= r.guided();
      uncond_until = std::max(uncond_until, static_cast<int>(r.LastUncondScale()));
    }
    if (!planned.insert(KindOf(first, batch.size(), guided, uncond_until)).second) continue;
    const PlanRequest request{.schedule = schedule,
                              .batch = static_cast<int64_t>(batch.size()),
                              .guided = guided,
                              .uncond_until = uncond_until,
                              .text_tokens = texts.longest,
                              .prompts = static_cast<int64_t>(texts.texts.size()),
                              .types = types,
                              .kv = first.kv,
                              .prune = first.prune,
                              .threads = MaxThreads()};
    NS_ASSIGN_OR_RETURN(MemoryPlan plan, PlanOne(info, request, preview));
    if (plan.peak > out.memory.peak)
      out = {.memory = std::move(plan), .largest = request, .preview = preview};
  }
  return out;
}

Status CheckMemory(const ModelInfo& info, const RunPlan& plan, int64_t limit) {
  if (plan.memory.peak <= limit) return absl::OkStatus();
  int64_t least = plan.memory.peak;
  std::string fits;
  for (const auto& [flags, request] : CheaperSettings(plan.largest)) {
    NS_ASSIGN_OR_RETURN(const MemoryPlan cheaper, PlanOne(info, request, plan.preview));
    least = std::min(least, cheaper.peak);
    if (cheaper.peak > limit) continue;
    fits = fmt::format("{}, which needs {}", flags, HumanBytes(cheaper.peak));
    break;
  }
  if (fits.empty()) {
    fits =
        fmt::format("a limit of {} or a smaller model: no setting of this one needs less", HumanBytes(least));
  }
  return WorkError(fmt::format("this needs {} of memory", HumanBytes(plan.memory.peak)),
                   fmt::format("--memory-limit is {}", HumanBytes(limit)), fits);
}

}  // namespace nextscale
