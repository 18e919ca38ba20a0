// The next-scale transformer: text conditioning once a picture, then one pass a scale.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "kv/cache.h"
#include "model/activations.h"
#include "model/block.h"
#include "model/observer.h"
#include "model/weights.h"

namespace nextscale {

// What the text of every stream gives, for all scales. Streams: the images' conditional ones in order, then
// unconditional ones.
struct Conditioning {
  int64_t streams = 0;
  Tensor cond;                     // [B, C] f32: pooled text, `sos`
  Tensor shared_ada;               // [B, 6C] f32
  Tensor head_ada;                 // [B, 2C] f32: scale, shift
  std::vector<Tensor> text_kv;     // [layers * B]: [2, H, T of the stream, D]
  std::vector<HeadKv> text_heads;  // [layers, B, H]
  // Of the first n streams.
  std::span<const HeadKv> TextHeads(int64_t layer, int64_t n, int64_t heads) const {
    return std::span(text_heads).subspan(layer * streams * heads, n * heads);
  }
  // Frees the text keys and values of all but the first n streams.
  void KeepText(int64_t n);
};

// Guidance between an image's two streams, on the hidden states after a block.
struct InnerGuidance {
  int64_t cond = 0, uncond = 0;  // streams
  float cfg = 1.0f;
  std::vector<int64_t> after_blocks;
};

struct ScaleRun {
  ScaleStep step;
  int64_t images = 0;                        // streams [0, images) are conditional, in order
  std::span<const int64_t> image_of_stream;  // [B]
  ConstView word_inputs;                     // [images*L, d] f32; empty at scale 0
  std::span<const InnerGuidance> inner_guidance;
  const KvSetup* kv = nullptr;
  const Pruner* pruner = nullptr;
  PruneStore* prune_store = nullptr;
  double* selection_seconds = nullptr;  // grows by what the cache's trims take
};

class Transformer {
 public:
  // Streams the weights from the source; blocks in `dtype` (kF32 or kBF16), what is around them in f32.
  static StatusOr<std::unique_ptr<Transformer>> Load(const TensorSource& source,
                                                     const TransformerConfig& config, DType dtype,
                                                     const OpContext& ops);

  const TransformerConfig& config() const { return config_; }
  DType dtype() const { return dtype_; }
  // The learned rows of a stream without a prompt: cfg_uncond[:n].
  ConstView UnconditionalRows(int64_t n) const { return weights_.cfg_uncond.view().Rows(0, n); }

  // text_rows: [T, text width] f32 of each stream, as the text encoder gives them. Errors: WorkError if
  // something is not finite; Interrupted.
  StatusOr<Conditioning> Condition(std::span<const ConstView> text_rows, const OpContext& ops,
                                   TensorObserver* observer, const CancelToken* cancel) const;

  // One pass over a map. logits [B*L, 2d] f32, before temperature. Errors: as Condition.
  Status RunScale(const ScaleRun& run, const Conditioning& conditioning, KvCache& cache, Activations& act,
                  View logits, const OpContext& ops, TensorObserver* observer,
                  const CancelToken* cancel) const;

 private:
  Transformer(const TransformerConfig& config, DType dtype) : config_(config), dtype_(dtype) {}
  Status ConditionStream(ConstView rows, int64_t stream, Conditioning& out, const OpContext& ops,
                         TensorObserver* observer) const;
  void EmbedInput(const ScaleRun& run, const Conditioning& conditioning, View x, const OpContext& ops) const;
  Status ComputeLogits(const ScaleRun& run, const Conditioning& conditioning, Activations& act, View logits,
                       const OpContext& ops) const;

  TransformerConfig config_;
  DType dtype_;
  TransformerWeights weights_;
};

// Bytes of Conditioning::text_kv for streams of these numbers of text rows.
int64_t TextKvBytes(const TransformerConfig& config, std::span<const int64_t> rows, DType dtype);

}  // namespace nextscale
