// The text encoder's sizes, read from its tensors, each of which is checked here: an error comes before any
// work.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "model/text/t5_encoder.h"
#include "model/text/t5_weights.h"

namespace nextscale {
namespace {

constexpr int64_t kMostHeadDim = 256;  // attention's
constexpr int64_t kMostBuckets = 1024,
                  kMostDistance = int64_t{1} << 20;  // far above any published; exact arithmetic stays short

// One more than the largest n of "encoder.block.{n}.…".
int64_t CountLayers(const TensorSource& source) {
  constexpr std::string_view kPrefix = "encoder.block.";
  int64_t layers = 0;
  for (const TensorInfo* info : source.List()) {
    const std::string_view name = info->name;
    int64_t n = 0;
    if (!name.starts_with(kPrefix)) continue;
    const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), n);
    if (error == std::errc() && n >= 0 && n < 10000) layers = std::max(layers, n + 1);
  }
  return layers;
}

template <typename T>
Status ReadOption(const ModelOptions& options, const std::string& name, T least, T most, T* value) {
  const auto found = options.find(name);
  if (found == options.end()) return absl::OkStatus();
  const std::string& text = found->second.value;
  T read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size() || !(read >= least && read <= most)) {
    return OptionError(name, found->second, fmt::format("expected a number from {} to {}", least, most),
                       "published models have 128 for the distance and 1e-6 for the epsilon");
  }
  *value = read;
  return absl::OkStatus();
}

Status Misfit(const TensorSource& source, const std::string& name, const Shape& shape,
              std::string_view expected) {
  return FileError(fmt::format("{}: tensor {} has shape {}", source.Describe(), name, ToString(shape)),
                   fmt::format("expected {}", expected), "check that the file is a T5 v1.1 encoder");
}

// The sizes that the first layer's shapes tell.
Status ReadSizes(const TensorSource& source, T5Config& c) {
  NS_ASSIGN_OR_RETURN(const TensorInfo* embedding, FindTensor(source, kT5Embedding, {-1, -1}));
  NS_ASSIGN_OR_RETURN(const TensorInfo* bias, FindTensor(source, kT5RelativeBias, {-1, -1}));
  c.vocabulary = embedding->shape[0];
  c.width = embedding->shape[1];
  c.buckets = bias->shape[0];
  c.heads = bias->shape[1];
  if (c.vocabulary < 1 || c.width < 1)
    return Misfit(source, embedding->name, embedding->shape, "a row for each token");
  if (c.buckets < 4 || c.buckets > kMostBuckets || c.heads < 1) {
    return Misfit(source, bias->name, bias->shape,
                  fmt::format("4 to {} buckets, a column for each head", kMostBuckets));
  }
  NS_ASSIGN_OR_RETURN(const TensorInfo* q,
                      FindTensor(source, T5AttentionName(0) + "q.weight", {-1, c.width}));
  c.head_dim = q->shape[0] / c.heads;
  if (q->shape[0] % c.heads != 0 || c.head_dim < 1 || c.head_dim > kMostHeadDim) {
    return Misfit(source, q->name, q->shape,
                  fmt::format("{} heads of equal width, at most {}", c.heads, kMostHeadDim));
  }
  NS_ASSIGN_OR_RETURN(const TensorInfo* wi,
                      FindTensor(source, T5FeedForwardName(0) + "wi_0.weight", {-1, c.width}));
  c.ffn = wi->shape[0];
  if (c.ffn < 1) return Misfit(source, wi->name, wi->shape, "at least one row");
  return absl::OkStatus();
}

}  // namespace

StatusOr<T5Config> T5Config::FromTensors(const TensorSource& source, const ModelOptions& options) {
  T5Config c;
  NS_RETURN_IF_ERROR(ReadSizes(source, c));
  c.layers = CountLayers(source);
  for (int64_t n = 0; n < c.layers; ++n) NS_RETURN_IF_ERROR(CheckT5Layer(source, c, n));
  NS_RETURN_IF_ERROR(FindTensor(source, kT5FinalNorm, {c.width}).status());
  NS_RETURN_IF_ERROR(ReadOption<int64_t>(options, "text.relative_attention_max_distance", c.buckets / 4 + 1,
                                         kMostDistance, &c.max_distance));
  NS_RETURN_IF_ERROR(ReadOption<float>(options, "text.layer_norm_epsilon", 0.0f, 1.0f, &c.eps));
  if (c.max_distance <= c.buckets / 4) {
    return CallError(
        fmt::format("{} relative buckets with a maximum distance of {}", c.buckets, c.max_distance),
        fmt::format("expected a distance above {}", c.buckets / 4),
        "set it: --option text.relative_attention_max_distance=N");
  }
  return c;
}

}  // namespace nextscale
