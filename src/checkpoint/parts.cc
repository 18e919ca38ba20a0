#include "checkpoint/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace nextscale {
namespace {

bool Has(const StoredFile& file, std::string_view name) {
  return std::any_of(file.tensors.begin(), file.tensors.end(),
                     [&](const StoredTensor& t) { return t.info.name == name; });
}
bool HasPrefix(const StoredFile& file, std::string_view prefix) {
  return std::any_of(file.tensors.begin(), file.tensors.end(),
                     [&](const StoredTensor& t) { return t.info.name.starts_with(prefix); });
}

constexpr std::array<std::string_view, 21> kTransformerNames = {"cfg_uncond",
                                                                "pos_start",
                                                                "lvl_embed.weight",
                                                                "text_norm.weight",
                                                                "word_embed.weight",
                                                                "word_embed.bias",
                                                                "head.weight",
                                                                "head.bias",
                                                                "head_nm.ada_lin.1.weight",
                                                                "head_nm.ada_lin.1.bias",
                                                                "shared_ada_lin.1.weight",
                                                                "shared_ada_lin.1.bias",
                                                                "text_proj_for_ca.0.weight",
                                                                "text_proj_for_ca.0.bias",
                                                                "text_proj_for_ca.2.weight",
                                                                "text_proj_for_ca.2.bias",
                                                                "text_proj_for_sos.ca.mat_q",
                                                                "text_proj_for_sos.ca.mat_kv.weight",
                                                                "text_proj_for_sos.ca.v_bias",
                                                                "text_proj_for_sos.ca.proj.weight",
                                                                "text_proj_for_sos.ca.proj.bias"};
constexpr std::array<std::string_view, 21> kBlockNames = {
    "ada_gss",         "ca_gamma",       "ca_norm.weight",    "ca_norm.bias",   "sa.mat_qkv.weight",
    "sa.q_bias",       "sa.v_bias",      "sa.scale_mul_1H11", "sa.proj.weight", "sa.proj.bias",
    "ca.mat_q.weight", "ca.mat_q.bias",  "ca.mat_kv.weight",  "ca.v_bias",      "ca.proj.weight",
    "ca.proj.bias",    "ffn.fc1.weight", "ffn.fc1.bias",      "ffn.fcg.weight", "ffn.fc2.weight",
    "ffn.fc2.bias"};

template <size_t N>
bool Contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Takes a number of at most 6 digits and the dot after it from the front of `text`.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && digits < 6 && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    value = value * 10 + (text[digits] - '0');
  if (digits == 0 || digits == text.size() || text[digits] != '.') return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

struct BlockKey {
  int64_t chunk = 0, index = 0;
  std::string rest;
};
std::optional<BlockKey> ParseBlockKey(std::string_view name) {
  BlockKey key;
  std::optional<int64_t> number;
  if (name.starts_with("block_chunks.")) {
    name.remove_prefix(std::string_view("block_chunks.").size());
    if (!(number = TakeNumber(name))) return std::nullopt;
    key.chunk = *number;
    if (!name.starts_with("module.")) return std::nullopt;
    name.remove_prefix(std::string_view("module.").size());
  } else if (name.starts_with("blocks.")) {
    name.remove_prefix(std::string_view("blocks.").size());
  } else {
    return std::nullopt;
  }
  if (!(number = TakeNumber(name))) return std::nullopt;
  key.index = *number;
  key.rest = name;
  return key;
}

struct Chunking {
  int64_t chunks = 1, per_chunk = 1;
};
// From the largest numbers, which every block below must have.
StatusOr<Chunking> ReadChunking(const StoredFile& file) {
  if (HasPrefix(file, "block_chunks.") && HasPrefix(file, "blocks."))
    return FileError(fmt::format("{} names blocks both as block_chunks and as blocks", file.path));
  Chunking c;
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const StoredTensor& t : file.tensors) {
    const auto key = ParseBlockKey(t.info.name);
    if (!key) continue;
    seen.insert({key->chunk, key->index});
    c.chunks = std::max(c.chunks, key->chunk + 1);
    c.per_chunk = std::max(c.per_chunk, key->index + 1);
  }
  if (!seen.empty() && static_cast<int64_t>(seen.size()) != c.chunks * c.per_chunk) {
    return FileError(fmt::format("{} lacks blocks", file.path),
                     fmt::format("its keys number {} chunks of {} blocks, {} of them are there", c.chunks,
                                 c.per_chunk, seen.size()),
                     "the file may be a shard: name the folder or the index json");
  }
  return c;
}

StatusOr<CanonicalPart> CanonicalTransformer(StoredFile file) {
  CanonicalPart part;
  NS_ASSIGN_OR_RETURN(const Chunking chunking, ReadChunking(file));
  const bool chunked = HasPrefix(file, "block_chunks.");  // before the names change
  for (StoredTensor& t : file.tensors) {
    const auto key = ParseBlockKey(t.info.name);
    if (t.info.name.ends_with("zero_k_bias")) continue;
    if (key ? !Contains(kBlockNames, key->rest) : !Contains(kTransformerNames, t.info.name)) {
      part.passed_over.push_back(t.info.name);
      continue;
    }
    if (key)
      t.info.name = fmt::format("blocks.{}.{}", key->chunk * chunking.per_chunk + key->index, key->rest);
    part.tensors.push_back(std::move(t));
  }
  if (chunked) part.options["block_chunks"] = {std::to_string(chunking.chunks), file.path};
  return part;
}

CanonicalPart CanonicalVae(StoredFile file) {
  CanonicalPart part;
  for (StoredTensor& t : file.tensors) {
    if (t.info.name.starts_with("quantizer.") || t.info.name.starts_with("quantize.")) continue;
    if (t.info.name.starts_with("encoder.") || t.info.name.starts_with("decoder.")) {
      part.tensors.push_back(std::move(t));
    } else {
      part.passed_over.push_back(t.info.name);
    }
  }
  return part;
}

CanonicalPart CanonicalText(StoredFile file) {
  const bool shared = Has(file, "shared.weight");
  CanonicalPart part;
  for (StoredTensor& t : file.tensors) {
    std::string& name = t.info.name;
    if (name.starts_with("decoder.") || name.starts_with("lm_head.")) continue;
    if (name == "encoder.embed_tokens.weight") {  // the same as shared.weight, which a file may leave out
      if (shared) continue;
      name = "shared.weight";
    }
    if (name == "shared.weight" || name.starts_with("encoder.")) {
      part.tensors.push_back(std::move(t));
    } else {
      part.passed_over.push_back(name);
    }
  }
  return part;
}

}  // namespace

std::string_view Name(PartKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"transformer", "VAE", "text encoder"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<PartKind> PartOf(const StoredFile& file) {
  if (HasPrefix(file, "encoder.block.0.layer.0.")) return PartKind::kText;
  if (Has(file, "decoder.conv_in.conv.weight") || Has(file, "encoder.conv_in.conv.weight"))
    return PartKind::kVae;
  if (HasPrefix(file, "block_chunks.") || HasPrefix(file, "blocks.") || Has(file, "word_embed.weight"))
    return PartKind::kTransformer;
  return std::nullopt;
}

StatusOr<CanonicalPart> Canonicalise(PartKind kind, StoredFile file) {
  std::vector<std::string> unreadable = std::move(file.unreadable);
  StatusOr<CanonicalPart> part = kind == PartKind::kTransformer ? CanonicalTransformer(std::move(file))
                                 : kind == PartKind::kVae       ? CanonicalVae(std::move(file))
                                                                : CanonicalText(std::move(file));
  if (part.ok()) part->passed_over.insert(part->passed_over.end(), unreadable.begin(), unreadable.end());
  return part;
}

}  // namespace nextscale
