// The engine: a transformer and a VAE decoder, loaded and const; makes pictures of one batch at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/bit_source.h"
#include "engine/request.h"
#include "engine/text.h"
#include "kv/kv_options.h"
#include "metrics/image_io.h"
#include "model/transformer.h"
#include "model/vae/vae.h"
#include "prune/pruner.h"

namespace nextscale {

struct EngineTypes {
  DType transformer = DType::kBF16, vae = DType::kBF16, text = DType::kBF16;
};

// One image of a batch.
struct ImageJob {
  PictureRequest request;
  const PromptText* prompt = nullptr;
  const PromptText* negative = nullptr;  // null: the learned rows, as many as the prompt has
  BitSource* bits = nullptr;             // null: the request's own draws
};

struct ScaleReport {
  int64_t scale = 0;
  MapSize map;
  double seconds = 0;            // transformer, guidance, sampling and codes
  double selection_seconds = 0;  // of these: choosing what stays in the cache, and moving it
  int64_t kv_bytes = 0;          // held after the scale
  int64_t full_kv_bytes = 0;     // what the full cache of all streams would hold, in the arithmetic's type
  std::vector<int64_t> layer_kv_bytes;  // [layer] of kv_bytes
  std::vector<bool> drafters;           // [layer] role in the next scale; empty where the policy has none
  std::vector<int64_t> kv_tokens;       // [layer] after the scale, of the longest head
  std::vector<int64_t> tokens_run;      // [layer] a branch; fewer than the map has where it is pruned
  std::vector<int64_t> account_bytes;   // [kAccounts] after the scale
};

struct GeneratedImage {
  std::vector<Tensor> bits;  // u8 [h*w, d] a scale, token by token; d = 0 for a skipped scale
  Tensor summed;             // [d_vae, H, W] f32: sum of all codes, at the last latent size
};

struct BatchResult {
  std::vector<GeneratedImage> images;
  std::vector<ScaleReport> scales;
  double seconds = 0;  // transformer, text conditioning included
};

// Watches a batch. All methods are called on the generating thread, between layers or scales.
class EngineObserver : public TensorObserver {
 public:
  void See(std::string_view name, ConstView tensor) override {}
  virtual bool wants_tensors() const { return false; }
  // Before and after a scale; `images` hold what is there so far (after: summed includes the scale).
  virtual void ScaleBegins(int64_t scale, MapSize map) {}
  virtual Status ScaleDone(const ScaleReport& report, std::span<const GeneratedImage> images) {
    return absl::OkStatus();
  }
};

struct BatchOptions {
  KvOptions kv;
  PruneOptions prune;
  EngineObserver* observer = nullptr;
  const CancelToken* cancel = nullptr;
};

class Engine {
 public:
  // Streams the transformer and the decoder from the files. Errors: FileError.
  static StatusOr<std::unique_ptr<Engine>> Load(const ModelFiles& files, const ModelInfo& info,
                                                const EngineTypes& types, const OpContext& ops);

  const ModelInfo& info() const { return info_; }
  const Transformer& transformer() const { return *transformer_; }

  // All jobs share one schedule (NS_CHECK). An image's result depends on its own job only. Errors: of
  // CheckRequest; WorkError; Interrupted.
  StatusOr<BatchResult> Generate(std::span<const ImageJob> jobs, const BatchOptions& options,
                                 const OpContext& ops) const;

  // Summed codes [d_vae, H, W] -> RGB.
  StatusOr<Image> Decode(ConstView summed, const OpContext& ops, const CancelToken* cancel) const;
  // The picture so far after a scale, decoded at `size` tokens (e.g. the current map): the codes resized,
  // then decoded.
  StatusOr<Image> DecodePreview(ConstView summed, MapSize size, const OpContext& ops,
                                const CancelToken* cancel) const;

 private:
  Engine(const ModelInfo& info) : info_(info) {}
  ModelInfo info_;
  std::unique_ptr<Transformer> transformer_;
  std::unique_ptr<Vae> vae_;
};

// image [3, H, W] f32 -> bytes: floor(255 * (clamp(x) + 1) / 2).
Image ToImage(ConstView image_3HW);

}  // namespace nextscale
