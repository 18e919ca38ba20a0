// Which cache policy a run uses, and its parameters. What is not set follows from the budget (scalekv.md,
// "What a percentage means", "Defaults where the paper gives only its one setting").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "kv/budget.h"
#include "kv/scored_policy.h"
#include "tensor/dtype.h"

namespace nextscale {

enum class KvPolicyKind {
  kFull,
  kSlidingWindow,
  kStreamingLlm,
  kSnapKv,
  kPyramidKv,
  kScaleKv,
  kScaleKvReference
};

struct KvOptions {
  KvPolicyKind policy = KvPolicyKind::kFull;
  double budget_percent = 10;            // of the tokens before the last scale that runs
  std::optional<int64_t> budget_tokens;  // goes before the percentage
  std::optional<int64_t> window;         // default: WindowSize of the budget
  int64_t sinks = 4;                     // StreamingLLM
  int64_t beta = 20;                     // PyramidKV
  std::optional<Pooling> pooling;        // default: average
  std::optional<int64_t> refiner_start;  // ScaleKV's B_r(0)
  std::optional<int64_t> decay;          // ScaleKV's delta
  LayerFlags drafters;                   // ScaleKV: [K][L] roles
  std::vector<std::vector<std::vector<double>>>
      head_asi;             // ScaleKV: [K][L][H], shares a layer's budget among its heads; empty: evenly
  bool even_heads = false;  // evenly, whatever a plan says
  LayerTable file_budgets;  // from a published budget file, [K][L]: used as they are, in place of a budget
  int64_t reference_start = 650;  // scalekv-reference compresses once a layer's cache has exceeded this
};

// "full", "sliding-window", ... Errors: CallError that lists the names.
StatusOr<KvPolicyKind> ParseKvPolicy(std::string_view name);
std::string_view Name(KvPolicyKind policy);
// "average", "max", "none". Errors: as above.
StatusOr<Pooling> ParsePooling(std::string_view name);
std::string_view Name(Pooling pooling);

}  // namespace nextscale
