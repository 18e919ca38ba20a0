#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nextscale {
namespace {

StatusOr<int64_t> IntegerOption(const ModelOptions& options, const std::string& name, int64_t default_value,
                                int64_t least, int64_t most) {
  const auto it = options.find(name);
  if (it == options.end()) return default_value;
  const std::string& text = it->second.value;
  const bool digits = !text.empty() && text.size() < 10 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int64_t value = digits ? std::stoll(text) : -1;
  if (value < least || value > most) {
    return OptionError(name, it->second, fmt::format("expected a whole number from {} to {}", least, most));
  }
  return value;
}

// Blocks are "blocks.0." to "blocks.{depth-1}.", none missing.
StatusOr<int64_t> CountBlocks(const TensorSource& source) {
  std::set<int64_t> seen;
  for (const TensorInfo* tensor : source.List()) {
    if (!tensor->name.starts_with("blocks.")) continue;
    const size_t dot = tensor->name.find('.', 7);
    if (dot == std::string::npos || dot == 7 || dot > 7 + 6) continue;
    const std::string number = tensor->name.substr(7, dot - 7);
    if (std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }))
      seen.insert(std::stoll(number));
  }
  const int64_t depth = static_cast<int64_t>(seen.size());
  if (depth == 0)
    return FileError(fmt::format("{} has no transformer blocks", source.Describe()),
                     "expected tensors named blocks.N.… or block_chunks.I.module.J.…");
  if (*seen.rbegin() != depth - 1) {
    return FileError(fmt::format("{}: block numbers are not 0 to {}", source.Describe(), depth - 1),
                     fmt::format("{} blocks were found, the last is {}", depth, *seen.rbegin()),
                     "a shard may be missing");
  }
  return depth;
}

}  // namespace

StatusOr<TransformerConfig> TransformerConfig::FromTensors(const TensorSource& source,
                                                           const ModelOptions& options) {
  TransformerConfig c;
  NS_ASSIGN_OR_RETURN(c.depth, CountBlocks(source));
  NS_ASSIGN_OR_RETURN(const TensorInfo* embed, FindTensor(source, "word_embed.weight", {-1, -1}));
  c.width = embed->shape[0];
  c.bits = embed->shape[1];
  NS_ASSIGN_OR_RETURN(const TensorInfo* uncond, FindTensor(source, "cfg_uncond", {-1, -1}));
  c.text_rows = uncond->shape[0];
  c.text_width = uncond->shape[1];
  NS_ASSIGN_OR_RETURN(const TensorInfo* levels, FindTensor(source, "lvl_embed.weight", {-1, c.width}));
  c.levels = levels->shape[0];
  NS_ASSIGN_OR_RETURN(const TensorInfo* fc1, FindTensor(source, "blocks.0.ffn.fc1.weight", {-1, c.width}));
  c.ffn = fc1->shape[0];
  NS_ASSIGN_OR_RETURN(const TensorInfo* scale,
                      FindTensor(source, "blocks.0.sa.scale_mul_1H11", {1, -1, -1, 1}));
  c.heads = scale->shape.elements();
  if (c.width < 1 || c.bits < 1 || c.heads < 1 || c.width % c.heads != 0 || c.head_dim() % 4 != 0 ||
      c.head_dim() > 256) {
    return FileError(fmt::format("{}: tensor blocks.0.sa.scale_mul_1H11 gives {} heads for width {}",
                                 source.Describe(), c.heads, c.width),
                     "the head width must be a multiple of 4, at most 256");
  }
  NS_ASSIGN_OR_RETURN(const TensorInfo* pool, FindTensor(source, "text_proj_for_sos.ca.mat_q", {1, -1, -1}));
  c.pool_heads = pool->shape[1];
  if (c.pool_heads < 1 || pool->shape[1] * pool->shape[2] != c.width || pool->shape[2] > 256) {
    return FileError(
        fmt::format("{}: tensor text_proj_for_sos.ca.mat_q is {}", source.Describe(), ToString(pool->shape)),
        fmt::format("expected [1, heads, {}/heads], heads at most 256 wide", c.width));
  }
  if (c.text_rows < 1 || c.levels < 1)
    return FileError(fmt::format("{}: cfg_uncond or lvl_embed.weight has no rows", source.Describe()));
  c.swiglu = source.Find("blocks.0.ffn.fcg.weight") != nullptr;
  c.ca_gamma = source.Find("blocks.0.ca_gamma") != nullptr;

  NS_ASSIGN_OR_RETURN(c.chunks, IntegerOption(options, "block_chunks", 1, 1, c.depth));
  if (c.depth % c.chunks != 0) {
    return OptionError("block_chunks", options.at("block_chunks"),
                       fmt::format("it does not divide the {} blocks of {}", c.depth, source.Describe()));
  }
  NS_ASSIGN_OR_RETURN(const int64_t first_only,
                      IntegerOption(options, "add_lvl_embeding_only_first_block", 1, 0, 1));
  c.level_each_chunk = first_only == 0;
  NS_ASSIGN_OR_RETURN(const int64_t rope, IntegerOption(options, "rope2d_normalized_by_hw", 2, 0, 2));
  c.rope_kind = static_cast<RopeKind>(rope);
  return c;
}

int64_t ParameterCount(const TransformerConfig& c) {
  const int64_t ffn = (c.swiglu ? 3 : 2) * c.width * c.ffn;
  const int64_t block = 8 * c.width * c.width + ffn + 12 * c.width;
  const int64_t text = c.text_rows * c.text_width + c.text_width * 3 * c.width + 2 * c.width * c.width;
  return c.depth * block + text + 8 * c.width * c.width + (c.levels + 3 * c.bits) * c.width;
}

}  // namespace nextscale
