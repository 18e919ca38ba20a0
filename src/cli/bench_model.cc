#include "cli/bench_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "checkpoint/synthetic.h"

namespace nextscale {
namespace {

struct Preset {
  std::string_view name;
  int64_t depth, width, heads;
  int64_t vae_bits;
  std::vector<int64_t> multipliers;  // of 128 channels, finest level first
  bool patchify;                     // the transformer reads 4 times the tokenizer's bits
  int64_t chunks;
  int trained_scales;
  std::vector<int64_t> drafters;  // blocks of the published ScaleKV budget file
};

// infinity.md, "Published checkpoints". No 20B has been published: it gets the 8B's tokenizer.
const std::vector<Preset>& Presets() {
  static const std::vector<Preset> presets = {
      {"infinity-125m", 12, 768, 8, 16, {1, 2, 4, 4, 4}, false, 4, 10, {0}},
      {"infinity-2b", 32, 2048, 16, 32, {1, 2, 4, 4, 4}, false, 8, 13, {0, 23}},
      {"infinity-8b", 40, 3584, 28, 14, {1, 2, 4, 4}, true, 8, 13, {0, 1, 2}},
      {"infinity-20b", 58, 4608, 36, 14, {1, 2, 4, 4}, true, 1, 13, {0, 1, 2}},
  };
  return presets;
}

// flan-t5-xl's encoder.
T5Config T5Xl() {
  T5Config t5;
  t5.vocabulary = 32128;
  t5.width = 2048;
  t5.layers = 24;
  t5.heads = 32;
  t5.head_dim = 64;
  t5.ffn = 5120;
  t5.buckets = 32;
  return t5;
}

TransformerConfig ConfigOf(const Preset& p, int64_t text_width) {
  TransformerConfig c;
  c.depth = p.depth;
  c.chunks = p.chunks;
  c.width = p.width;
  c.heads = p.heads;
  c.bits = p.vae_bits * (p.patchify ? 4 : 1);
  c.ffn = std::lround(static_cast<double>(p.width) * 4 / 256) * 256;
  c.text_width = text_width;
  c.text_rows = 512;
  c.pool_heads = text_width / (p.width > 4096 ? 64 : 128);
  c.levels = 15;
  return c;
}

// Gathers names and shapes.
class List {
 public:
  void Add(std::string name, Shape shape) { out_.push_back({std::move(name), DType::kF32, shape}); }
  void Linear(const std::string& name, int64_t N, int64_t K) {
    Add(name + ".weight", {N, K});
    Add(name + ".bias", {N});
  }
  void Conv(const std::string& name, int64_t out, int64_t in, int64_t kernel) {
    Add(name + ".conv.weight", {out, in, kernel, kernel});
    Add(name + ".conv.bias", {out});
  }
  void GroupNorm(const std::string& name, int64_t channels) {
    Add(name + ".norm.weight", {channels});
    Add(name + ".norm.bias", {channels});
  }
  void ResBlock(const std::string& name, int64_t in, int64_t out) {
    GroupNorm(name + ".norm1", in);
    Conv(name + ".conv1", out, in, 3);
    GroupNorm(name + ".norm2", out);
    Conv(name + ".conv2", out, out, 3);
    if (in != out) Conv(name + ".nin_shortcut", out, in, 1);
  }
  std::vector<TensorInfo> Take() { return std::move(out_); }

 private:
  std::vector<TensorInfo> out_;
};

void AddBlock(const TransformerConfig& c, const std::string& name, List& list) {
  const int64_t C = c.width;
  list.Add(name + "ada_gss", {1, 1, 6, C});
  list.Add(name + "sa.scale_mul_1H11", {1, c.heads, 1, 1});
  list.Add(name + "sa.q_bias", {C});
  list.Add(name + "sa.v_bias", {C});
  list.Add(name + "sa.mat_qkv.weight", {3 * C, C});
  list.Linear(name + "sa.proj", C, C);
  list.Linear(name + "ca.mat_q", C, C);
  list.Add(name + "ca.v_bias", {C});
  list.Add(name + "ca.mat_kv.weight", {2 * C, C});
  list.Linear(name + "ca.proj", C, C);
  list.Add(name + "ca_norm.weight", {C});
  list.Add(name + "ca_norm.bias", {C});
  if (c.ca_gamma) list.Add(name + "ca_gamma", {C});
  if (c.swiglu) {
    list.Add(name + "ffn.fcg.weight", {c.ffn, C});
    list.Add(name + "ffn.fc1.weight", {c.ffn, C});
    list.Add(name + "ffn.fc2.weight", {C, c.ffn});
  } else {
    list.Linear(name + "ffn.fc1", c.ffn, C);
    list.Linear(name + "ffn.fc2", C, c.ffn);
  }
}

}  // namespace

std::vector<std::string> BenchPresetNames() {
  std::vector<std::string> names;
  for (const Preset& p : Presets()) names.emplace_back(p.name);
  return names;
}

StatusOr<ModelInfo> BenchPreset(std::string_view name) {
  for (const Preset& p : Presets()) {
    if (p.name != name) continue;
    ModelInfo info;
    info.text = T5Xl();
    info.transformer = ConfigOf(p, info.text->width);
    info.vae.emplace();
    info.vae->bits = p.vae_bits;
    info.vae->base_channels = 128;
    info.vae->multipliers = p.multipliers;
    info.vae->decoder_res_blocks = 3;
    info.patchify = p.patchify;
    info.trained_scales = p.trained_scales;
    return info;
  }
  return CallError(fmt::format("there is no preset {}", name),
                   fmt::format("presets: {}", fmt::join(BenchPresetNames(), ", ")));
}

LayerFlags PresetDrafters(std::string_view name, int64_t scales, int64_t depth) {
  LayerFlags roles(scales, std::vector<bool>(depth, false));
  for (const Preset& p : Presets()) {
    if (p.name != name) continue;
    for (int64_t block : p.drafters) {
      for (std::vector<bool>& of_scale : roles) of_scale[block * depth / p.depth] = true;
    }
  }
  return roles;
}

std::vector<TensorInfo> TransformerTensors(const TransformerConfig& c) {
  const int64_t C = c.width;
  List list;
  list.Add("cfg_uncond", {c.text_rows, c.text_width});
  list.Add("pos_start", {1, 1, C});
  list.Add("text_norm.weight", {c.text_width});
  list.Add("text_proj_for_sos.ca.mat_q", {1, c.pool_heads, C / c.pool_heads});
  list.Add("text_proj_for_sos.ca.v_bias", {C});
  list.Add("text_proj_for_sos.ca.mat_kv.weight", {2 * C, c.text_width});
  list.Linear("text_proj_for_sos.ca.proj", C, C);
  list.Linear("text_proj_for_ca.0", C, c.text_width);
  list.Linear("text_proj_for_ca.2", C, C);
  list.Add("lvl_embed.weight", {c.levels, C});
  list.Linear("word_embed", C, c.bits);
  list.Linear("shared_ada_lin.1", 6 * C, C);
  list.Linear("head_nm.ada_lin.1", 2 * C, C);
  list.Linear("head", 2 * c.bits, C);
  for (int64_t n = 0; n < c.depth; ++n) AddBlock(c, fmt::format("blocks.{}.", n), list);
  return list.Take();
}

std::vector<TensorInfo> VaeTensors(const VaeConfig& c) {
  const int64_t levels = static_cast<int64_t>(c.multipliers.size());
  const auto channels = [&](int64_t level) { return c.base_channels * c.multipliers[level]; };
  const int64_t coarsest = channels(levels - 1);
  List list;

  list.Conv("encoder.conv_in", c.base_channels, 3, 3);
  for (int64_t level = 0, in = c.base_channels; level < levels; in = channels(level++)) {
    for (int64_t b = 0; b + 1 < c.decoder_res_blocks; ++b) {
      list.ResBlock(fmt::format("encoder.down.{}.block.{}", level, b), b ? channels(level) : in,
                    channels(level));
    }
    if (level + 1 < levels)
      list.Conv(fmt::format("encoder.down.{}.downsample.conv", level), channels(level), channels(level), 3);
  }
  for (int b : {1, 2}) list.ResBlock(fmt::format("encoder.mid.block_{}", b), coarsest, coarsest);
  list.GroupNorm("encoder.norm_out", coarsest);
  list.Conv("encoder.conv_out", c.bits, coarsest, 3);

  list.Conv("decoder.conv_in", coarsest, c.bits, 3);
  for (int b : {1, 2}) list.ResBlock(fmt::format("decoder.mid.block_{}", b), coarsest, coarsest);
  for (int64_t level = levels - 1, in = coarsest; level >= 0; in = channels(level--)) {
    for (int64_t b = 0; b < c.decoder_res_blocks; ++b) {
      list.ResBlock(fmt::format("decoder.up.{}.block.{}", level, b), b ? channels(level) : in,
                    channels(level));
    }
    if (level > 0)
      list.Conv(fmt::format("decoder.up.{}.upsample.conv", level), channels(level), channels(level), 3);
  }
  list.GroupNorm("decoder.norm_out", channels(0));
  list.Conv("decoder.conv_out", 3, channels(0), 3);
  return list.Take();
}

std::vector<TensorInfo> T5Tensors(const T5Config& c) {
  const int64_t inner = c.heads * c.head_dim;
  List list;
  list.Add("shared.weight", {c.vocabulary, c.width});
  for (int64_t n = 0; n < c.layers; ++n) {
    const std::string attention = fmt::format("encoder.block.{}.layer.0.", n),
                      dense = fmt::format("encoder.block.{}.layer.1.", n);
    for (const char* part : {"q", "k", "v"})
      list.Add(attention + "SelfAttention." + part + ".weight", {inner, c.width});
    list.Add(attention + "SelfAttention.o.weight", {c.width, inner});
    if (n == 0) list.Add(attention + "SelfAttention.relative_attention_bias.weight", {c.buckets, c.heads});
    list.Add(attention + "layer_norm.weight", {c.width});
    list.Add(dense + "DenseReluDense.wi_0.weight", {c.ffn, c.width});
    list.Add(dense + "DenseReluDense.wi_1.weight", {c.ffn, c.width});
    list.Add(dense + "DenseReluDense.wo.weight", {c.width, c.ffn});
    list.Add(dense + "layer_norm.weight", {c.width});
  }
  list.Add("encoder.final_layer_norm.weight", {c.width});
  return list.Take();
}

ModelFiles RandomModel(const ModelInfo& info, const std::string& name) {
  ModelFiles files;
  files.name = name + ", random weights";
  files.transformer = MakeSyntheticTensors(TransformerTensors(*info.transformer), 1);
  files.vae = MakeSyntheticTensors(VaeTensors(*info.vae), 2);
  files.text = MakeSyntheticTensors(T5Tensors(*info.text), 3);
  return files;
}

}  // namespace nextscale
