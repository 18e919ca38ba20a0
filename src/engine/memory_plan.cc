#include "engine/memory_plan.h"

#include <algorithm>

#include "engine/generation_shape.h"

namespace nextscale {
namespace {

// The program itself: code of the libraries it links, the OpenMP run-time, small allocations. Measured with
// the bundled model, VmHWM less what the accounts hold.
constexpr int64_t kProgramBytes = int64_t{22} << 20;

int64_t& Of(MemoryPlan& plan, Account account) { return plan.accounts[static_cast<int>(account)]; }

int64_t LatentBytes(const ModelInfo& info, const ScaleSchedule& schedule) {
  const MapSize latent = LatentMap(schedule.last(), info.patchify);
  return info.vae->bits * latent.tokens() * static_cast<int64_t>(sizeof(float));
}

}  // namespace

int64_t PlanRequest::StreamsAt(int64_t scale) const {
  return batch * (guided && scale <= uncond_until.value_or(schedule.scales()) ? 2 : 1);
}

StatusOr<MemoryPlan> PlanMemory(const ModelInfo& info, const PlanRequest& r) {
  const TransformerConfig& c = *info.transformer;
  NS_ASSIGN_OR_RETURN(const GenerationShape shape, ShapeOf(r.schedule, r.prune, r.kv, c.depth));
  const int64_t streams = r.StreamsAt(0), most = shape.most_tokens;
  std::vector<int64_t> streams_K;
  for (int64_t k = 0; k < r.schedule.scales(); ++k) streams_K.push_back(r.StreamsAt(k));
  MemoryPlan plan;

  const int64_t text_rows = r.prompts * r.text_tokens * c.text_width * 4;
  Of(plan, Account::kWeights) = TransformerWeightBytes(c, r.types.transformer) +
                                VaeWeightBytes(*info.vae, r.types.vae, VaeParts::kDecoder);
  Of(plan, Account::kKv) =
      shape.kv.PeakTokens(streams_K) * 2 * c.width * static_cast<int64_t>(SizeOf(r.types.transformer));
  plan.full_kv = TokensBeforeLastRun(r.schedule.maps, shape.kv.added) * c.depth * streams * 2 * c.width *
                 static_cast<int64_t>(SizeOf(r.types.transformer));
  Of(plan, Account::kTextKv) =
      TextKvBytes(c, std::vector<int64_t>(streams, r.text_tokens), r.types.transformer);

  if (shape.pruner.source() >= 0) {
    Of(plan, Account::kPrune) =
        PruneStore::Bytes(shape.pruner, c.depth, streams * r.schedule.maps[shape.pruner.source()].tokens(),
                          c.width, r.types.transformer);
  }

  // Everything that is made anew for each batch: the pass's buffers, its inputs and logits, the sums of
  // codes.
  const int64_t pass = Activations::Bytes(c, {streams, most}, r.types.transformer) +
                       r.batch * most * c.bits * 4 + streams * most * 2 * c.bits * 4 +
                       r.batch * LatentBytes(info, r.schedule) + streams * 9 * c.width * 4;
  const int64_t scratch = AttentionScratchBytes(streams * c.heads, shape.kv.Capacity() + most, c.head_dim(),
                                                r.types.transformer, EffectiveIsa(), r.threads);

  const MapSize latent = LatentMap(r.schedule.last(), info.patchify);
  const int64_t pixels = latent.tokens() * info.vae->stride() * info.vae->stride();
  const int64_t decoding = VaeDecodeWorkingBytes(*info.vae, latent, r.types.vae, r.threads) +
                           pixels * (3 * 4 + 3) + r.batch * LatentBytes(info, r.schedule);
  Of(plan, Account::kActivations) = std::max(pass, decoding);
  Of(plan, Account::kScratch) = scratch;

  const int64_t weights = Of(plan, Account::kWeights);
  if (info.text)
    plan.phases.push_back(
        {"text", kProgramBytes + T5WorkingBytes(*info.text, r.types.text, r.prompts, r.text_tokens)});
  plan.phases.push_back({"transformer", kProgramBytes + weights + text_rows + Of(plan, Account::kKv) +
                                            Of(plan, Account::kTextKv) + Of(plan, Account::kPrune) + pass +
                                            scratch});
  plan.phases.push_back({"vae", kProgramBytes + weights + text_rows + decoding + scratch});
  for (const MemoryPlan::Phase& phase : plan.phases) plan.peak = std::max(plan.peak, phase.bytes);
  return plan;
}

}  // namespace nextscale
