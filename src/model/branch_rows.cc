#include "model/branch_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/activation.h"
#include "ops/restore.h"
#include "ops/token_deviation.h"

namespace nextscale {
namespace {

constexpr std::array<std::string_view, kBranches> kNames = {"sa", "ca", "ffn"};  // of the golden files

}  // namespace

View PruneStore::Fresh(int64_t rows, int64_t width) {
  const Shape shape{rows, width};
  if (fresh_.empty() || fresh_.shape() != shape) fresh_ = Tensor(DType::kF32, shape, use());
  return fresh_.view();
}

int64_t PruneStore::Bytes(const Pruner& pruner, int64_t depth, int64_t source_rows, int64_t width,
                          DType dtype) {
  if (pruner.source() < 0) return 0;
  int64_t layers = 0;
  for (int64_t layer = 0; layer < depth; ++layer) layers += pruner.PrunesLayer(layer);
  const int64_t stored = layers * kBranches * static_cast<int64_t>(SizeOf(dtype));
  return source_rows * width * (stored + static_cast<int64_t>(sizeof(float)));
}

bool BranchRows::Choose(Branch branch) {
  const int64_t n = place_.map.tokens();
  branch_ = branch;
  kept_ = pruner_.Kept(place_.scale, place_.layer, n);
  stores_ = pruner_.Stores(place_.scale, place_.layer);
  rows_.clear();
  at_B_.clear();
  if (kept_ == n) return true;

  std::vector<float> scores(place_.streams * n);
  if (!TokenDeviation(x(), n, scores, ops_)) return false;
  for (int64_t stream = 0; stream < place_.streams; ++stream) {
    at_B_.push_back(SelectTokens(std::span(scores).subspan(stream * n, n), kept_));
    for (int32_t at : at_B_.back()) rows_.push_back(static_cast<int32_t>(stream * n) + at);
  }
  if (observer_) SeeRows();
  return true;
}

View BranchRows::out() const {
  if (adds()) return x();
  return stores_ ? store_.Fresh(count(), x().dim(1)) : act_.q(count());
}

void BranchRows::Finish() {
  if (adds()) return;
  Tensor& stored = store_.Outputs(place_.layer, branch_);
  const View fresh = out();
  if (stores_) {
    AddInPlace(x(), fresh, ops_);
    stored = Tensor(act_.q(1).dtype(), fresh.shape(), store_.use());
    Cast(fresh, stored.view(), ops_);
    return;
  }
  RestoreInto({.x = x(),
               .fresh = fresh,
               .rows = rows_,
               .stored = stored.view().Rows(0, place_.streams * place_.source.tokens()),
               .map = place_.map,
               .source = place_.source},
              ops_);
  if (pruner_.IsLastReader(place_.scale)) stored = Tensor();
}

void BranchRows::SeeRows() const {
  Tensor at(DType::kI32, {place_.streams, kept_}, {});
  int32_t* to = at.data<int32_t>();
  for (const std::vector<int32_t>& of_stream : at_B_) to = std::copy(of_stream.begin(), of_stream.end(), to);
  observer_->See(fmt::format("scale{:02d}.layer{:02d}.{}.at", place_.scale, place_.layer,
                             kNames[static_cast<int>(branch_)]),
                 at.view());
}

}  // namespace nextscale
