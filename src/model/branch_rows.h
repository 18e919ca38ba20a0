// FastVAR around a branch of a block (fastvar.md): which of the map's rows the branch runs on, and where its
// outputs go.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/activations.h"
#include "model/observer.h"
#include "ops/context.h"
#include "ops/map_size.h"
#include "prune/pruner.h"

namespace nextscale {

enum class Branch { kSelfAttention, kCrossAttention, kFeedForward };
inline constexpr int kBranches = 3;

// What the pruned layers' branches gave at the source scale, gate included, until no later scale reads it.
class PruneStore {
 public:
  PruneStore(int64_t depth, MemoryLedger* ledger) : outputs_(depth), ledger_(ledger) {}

  Tensor& Outputs(int64_t layer, Branch branch) { return outputs_[layer][static_cast<int>(branch)]; }
  // A buffer for one branch's outputs at the source scale, before they are added and stored: [rows, C] f32.
  View Fresh(int64_t rows, int64_t width);
  void FreeFresh() { fresh_ = Tensor(); }
  MemoryUse use() const { return {ledger_, Account::kPrune}; }

  // The most that is held: what is stored, and the buffer.
  static int64_t Bytes(const Pruner& pruner, int64_t depth, int64_t source_rows, int64_t width, DType dtype);

 private:
  std::vector<std::array<Tensor, kBranches>> outputs_;  // [layer][branch]: [B*s, C]
  Tensor fresh_;
  MemoryLedger* ledger_;
};

// The branch of one layer at one scale that is being computed.
class BranchRows {
 public:
  struct Place {
    int64_t scale = 0, layer = 0, streams = 0;
    MapSize map, source;  // source: the map of the scale that the pruner restores from
  };
  BranchRows(const Place& place, const Pruner& pruner, PruneStore& store, Activations& act,
             const OpContext& ops, TensorObserver* observer)
      : place_(place), pruner_(pruner), store_(store), act_(act), ops_(ops), observer_(observer) {}

  // Begins a branch: chooses its rows by what is in x now. False if x is not finite.
  [[nodiscard]] bool Choose(Branch branch);

  int64_t per_stream() const { return kept_; }
  int64_t count() const { return place_.streams * kept_; }
  std::span<const int32_t> rows() const { return rows_; }  // [B*L] ascending rows of x; empty: all
  std::span<const std::vector<int32_t>> at_B() const { return at_B_; }  // the same by place in the map

  // Where the branch's last product goes: [count, C], in place of its sum with x or, if `adds`, onto x.
  View out() const;
  bool adds() const { return !stores_ && rows_.empty(); }
  // Ends the branch: x has its outputs, or what stands for them, at all places.
  void Finish();

 private:
  View x() const { return act_.x(place_.streams * place_.map.tokens()); }
  void SeeRows() const;

  const Place place_;
  const Pruner& pruner_;
  PruneStore& store_;
  Activations& act_;
  const OpContext& ops_;
  TensorObserver* observer_;
  Branch branch_ = Branch::kSelfAttention;
  bool stores_ = false;
  int64_t kept_ = 0;
  std::vector<int32_t> rows_;
  std::vector<std::vector<int32_t>> at_B_;
};

}  // namespace nextscale
