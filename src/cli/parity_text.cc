#include <fmt/format.h>

#include "cli/parity_run.h"
#include "engine/text.h"

namespace nextscale {
namespace {

// The bucket of key - query = -511 .. 511.
Tensor RelativeBuckets(const T5Config& config) {
  constexpr int kMost = 511;
  Tensor out(DType::kI32, {2 * kMost + 1}, {});
  for (int d = -kMost; d <= kMost; ++d) {
    out.data<int32_t>()[d + kMost] =
        static_cast<int32_t>(RelativeBucket(d, config.buckets, config.max_distance));
  }
  return out;
}

}  // namespace

Status RunTextCase(const ParityRun& run) {
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel(run.request.model));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  NS_ASSIGN_OR_RETURN(const std::vector<PromptText> texts,
                      EncodePrompts(files, info, run.request.prompts, run.type, run.ops, run.cancel));
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<int32_t>& ids = texts[i].ids;
    run.check.See(fmt::format("prompt{}.ids", i), ConstView(reinterpret_cast<const std::byte*>(ids.data()),
                                                            DType::kI32, {static_cast<int64_t>(ids.size())}));
    run.check.See(fmt::format("prompt{}.t5", i), texts[i].rows.view());
  }
  run.check.See("relative_buckets", RelativeBuckets(*info.text).view());
  return absl::OkStatus();
}

}  // namespace nextscale
