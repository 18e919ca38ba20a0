// The flags of `generate`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/kv_flags.h"
#include "cli/model_flags.h"
#include "cli/prune_flags.h"
#include "cli/schedule_flags.h"

namespace nextscale {

// As given; what is empty or not set has the default that its help states.
struct GenerateFlags {
  ModelFlags model;
  std::vector<std::string> prompts;
  std::string prompts_file;
  std::optional<std::string> negative;
  std::string output, grid;
  std::string seed;
  int64_t batch = 1, count = 1;
  SizeFlags size;
  std::string cfg, tau;
  std::optional<double> top_p;
  std::optional<int> top_k;
  std::string cfg_insertion_layer;
  KvFlags kv;
  PruneFlags prune;
  std::optional<int> uncond_until;
  std::string type, memory_limit, rng = "philox";
  std::string save_bits, from_bits;
  std::optional<int> keep_scales;
  std::string preview, preview_size = "map" /* or full */, report;
  bool kept = false;
  bool plan = false, no_metadata = false, reference = false;
};

// What every command that makes pictures from prompts takes: model, prompts, seed, size, sampling, types,
// memory.
void DeclareRequestFlags(CLI::App& command, GenerateFlags& flags);
// And what says how many are made, from which bits, with which cache and pruning: all of generate's but where
// results go.
void DeclareBatchFlags(CLI::App& command, GenerateFlags& flags);
void DeclareGenerateFlags(CLI::App& command, GenerateFlags& flags);
// CallError for flags that contradict each other.
Status CheckFlags(const GenerateFlags& flags);

// "3" or "3,3,2.5": one number for all scales, or one a scale. Errors: CallError naming `flag`.
StatusOr<std::vector<float>> ParseNumbers(const std::string& text, const std::string& flag);
// The same in double, for top-p: torch compares in double.
StatusOr<std::vector<double>> ParseDoubles(const std::string& text, const std::string& flag);
// "0", "-1,-3".
StatusOr<std::vector<int>> ParseIntegers(const std::string& text, const std::string& flag);
// "12G", "512M", "1.5G" or bytes; G is GiB.
StatusOr<int64_t> ParseBytes(const std::string& text, const std::string& flag);
// A decimal number below 2^64.
StatusOr<uint64_t> ParseSeed(const std::string& text);

}  // namespace nextscale
