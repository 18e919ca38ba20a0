// One batch from text to summed codes: the loop over scales (infinity.md, "One scale" and "Codes to image").
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/generation_shape.h"

namespace nextscale {

// Holds what a batch needs while it runs. Made for one run.
class Generation {
 public:
  Generation(const ModelInfo& info, const Transformer& transformer, std::span<const ImageJob> jobs,
             const BatchOptions& options, GenerationShape shape, const OpContext& ops);
  StatusOr<BatchResult> Run();

 private:
  // Streams: images' conditional ones, then the unconditional ones of guided images, those that run longest
  // first: the streams of a scale are the first of them.
  struct Stream {
    int64_t image = 0;
    bool conditional = true;
    int64_t last_scale = 0;  // that it runs
  };
  int64_t images() const { return static_cast<int64_t>(jobs_.size()); }
  int64_t streams() const { return static_cast<int64_t>(streams_.size()); }
  void MakeStreams();
  // How many run at this scale; 0 after the last.
  int64_t StreamsAt(int64_t scale) const;
  // The unconditional stream of an image that is guided at this scale, else -1.
  int64_t GuideStream(int64_t image, int64_t scale) const;

  std::vector<ConstView> TextRows() const;
  void MakeWordInputs(int64_t scale);
  std::vector<int32_t> TokenNumbers(int64_t scale) const;
  std::vector<InnerGuidance> InnerGuidanceAt(int64_t scale) const;
  // The next scale that is not skipped; the number of scales after the last.
  int64_t NextRun(int64_t scale) const;
  Status RunScale(int64_t scale, Conditioning& conditioning, ScaleReport& report);
  // Guided logits of an image, in place of its conditional stream's: [L, d, 2].
  ConstView Guide(int64_t image, int64_t scale);
  void AddCode(int64_t image, int64_t scale, ConstView bits);
  // Of all streams, with every token of the maps so far but the last's.
  int64_t FullKvBytes(int64_t scale) const;
  void SeeKept(int64_t scale, int64_t streams) const;
  void See(int64_t scale, std::string_view what, ConstView tensor) const;
  std::span<const GeneratedImage> done() const { return result_.images; }

  const ModelInfo& info_;
  const Transformer& transformer_;
  std::span<const ImageJob> jobs_;
  const BatchOptions& options_;
  const OpContext& ops_;
  const ScaleSchedule& schedule_;

  std::vector<Stream> streams_;
  std::vector<int64_t> image_of_stream_, uncond_of_image_;
  std::vector<std::unique_ptr<BitSource>> own_bits_;
  std::vector<BitSource*> bits_;
  std::unique_ptr<Activations> act_;
  const GenerationShape shape_;
  PruneStore prune_store_;
  std::unique_ptr<KvCache> cache_;
  Tensor word_inputs_;  // [images*L, d]
  Tensor logits_;       // [B*L, 2d]
  BatchResult result_;
};

}  // namespace nextscale
