#include "kv/trim.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "ops/window_scores.h"

namespace nextscale {
namespace {

// Selections of all (stream, head) of one layer.
class Trimming {
 public:
  Trimming(const StoreScaleArgs& args, const KvSetup& setup, const KvCache& cache, const OpContext& ops)
      : args_(args),
        setup_(setup),
        cache_(cache),
        ops_(ops),
        H_(cache.shape().heads),
        D_(cache.shape().head_dim),
        n_(args.current.k.dim(2)) {
    for (int64_t b = 0; b < args.current.k.dim(0); ++b) {
      for (int64_t h = 0; h < H_; ++h) windows_.push_back(WindowOf(args, b, h, setup, cache));
    }
  }

  std::vector<std::vector<int32_t>> Run() const {
    std::vector<std::vector<int32_t>> keep(windows_.size());
    ParallelFor(static_cast<int64_t>(keep.size()),
                [&](int64_t i, int thread) { keep[i] = SelectHead(i / H_, i % H_, thread); });
    return keep;
  }

 private:
  std::vector<int32_t> SelectHead(int64_t stream, int64_t head, int thread) const {
    const HeadKv& cached = cache_.Heads(args_.layer)[stream * H_ + head];
    std::vector<int32_t> tokens(cached.length + n_);
    const std::span<const int32_t> held = cache_.Tokens(args_.layer, stream, head);
    std::copy(held.begin(), held.end(), tokens.begin());
    std::copy(args_.current.tokens_B[stream].begin(), args_.current.tokens_B[stream].end(),
              tokens.begin() + cached.length);
    const int64_t budget = setup_.BudgetAfter(args_.scale, args_.layer, head);
    if (static_cast<int64_t>(tokens.size()) <= budget) {
      std::vector<int32_t> all(tokens.size());
      std::iota(all.begin(), all.end(), 0);
      return all;
    }
    const std::vector<float> scores = Scores(stream, head, cached, thread);
    return setup_.policy->Select({.tokens = tokens,
                                  .window = windows_[stream * H_ + head].places,
                                  .scores = scores,
                                  .budget = budget});
  }

  std::vector<float> Scores(int64_t stream, int64_t head, const HeadKv& cached, int thread) const {
    const WindowScore kind = setup_.policy->score();
    if (kind == WindowScore::kNone) return {};
    const bool raw = kind == WindowScore::kRawLogits;
    const int64_t w = static_cast<int64_t>(windows_[stream * H_].queries.size());
    std::vector<int32_t> raw_rows(w);
    std::iota(raw_rows.begin(), raw_rows.end(), 0);
    const int64_t bytes = n_ * D_ * static_cast<int64_t>(SizeOf(args_.current.k.dtype()));
    const WindowScoresArgs scores_args{
        .q = raw ? args_.raw_q.Rows(stream * w, w) : args_.q.Rows(stream * n_, n_),
        .rows = raw ? raw_rows : windows_[stream * H_].queries,
        .head = head,
        .D = D_,
        .cached = cached,
        .current = {args_.current.k.raw() + (stream * H_ + head) * bytes, nullptr, n_},
        .scale = raw ? 1.0f / std::sqrt(static_cast<float>(D_)) : 1.0f,
        .softmax = !raw};
    std::vector<float> scores(cached.length + n_);
    WindowScores(
        scores_args, ops_.backend, scores,
        ops_.scratch.ForThread(thread, WindowScoresScratchBytes(w, static_cast<int64_t>(scores.size()), D_)));
    return scores;
  }

  const StoreScaleArgs& args_;
  const KvSetup& setup_;
  const KvCache& cache_;
  const OpContext& ops_;
  const int64_t H_, D_, n_;
  std::vector<ObservationWindow> windows_;  // [streams, H]
};

// Whether every head has room for the current map.
bool NothingToSelect(const StoreScaleArgs& args, const KvSetup& setup, const KvCache& cache) {
  if (!setup.policy || setup.BudgetAfter(args.scale, args.layer) < 0) return true;
  const std::span<const HeadKv> heads = cache.Heads(args.layer);
  for (size_t i = 0; i < heads.size(); ++i) {
    const int64_t head = static_cast<int64_t>(i) % cache.shape().heads;
    if (heads[i].length + args.current.k.dim(2) > setup.BudgetAfter(args.scale, args.layer, head))
      return false;
  }
  return true;
}

}  // namespace

ObservationWindow WindowOf(const StoreScaleArgs& args, int64_t stream, int64_t head, const KvSetup& setup,
                           const KvCache& cache) {
  if (NothingToSelect(args, setup, cache)) return {};
  return setup.policy->Window({.scale = args.scale,
                               .map = args.map,
                               .cached = cache.Heads(args.layer)[stream * cache.shape().heads + head].length,
                               .n = args.current.k.dim(2),
                               .at = args.at_B.empty() ? std::span<const int32_t>() : args.at_B[stream]});
}

double StoreScale(const StoreScaleArgs& args, const KvSetup& setup, KvCache& cache, const OpContext& ops) {
  if (NothingToSelect(args, setup, cache)) {
    cache.Append(args.layer, args.current);
    return 0;
  }
  const ProfileScope profile(ops.profiler, "selection");
  const auto start = std::chrono::steady_clock::now();
  cache.Keep(args.layer, args.current, Trimming(args, setup, cache, ops).Run());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace nextscale
