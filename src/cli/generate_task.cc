// See generate_task.h.
#include "cli/generate_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/bits_file.h"
#include "cli/output_places.h"
#include "cli/type_flags.h"
#include "engine/codes.h"
#include "model/text/tokenizer.h"

namespace nextscale {
namespace {

// The longest text is told by the tokenizer alone, so that memory is planned before the encoder is read.
StatusOr<TextSet> CollectTexts(const ModelFiles& files, const ModelInfo& info,
                               const std::vector<Picture>& pictures) {
  if (!files.text || files.tokenizer.empty()) {
    return FileError("the model has no text encoder",
                     "a T5 folder with config.json, weights and spiece.model is needed",
                     "name it by --text-encoder");
  }
  NS_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::FromBytes(files.tokenizer, files.text->Describe()));
  TextSet set;
  const auto add = [&](const std::string& text) -> Status {
    if (!set.index.emplace(text, set.texts.size()).second) return absl::OkStatus();
    set.texts.push_back(text);
    NS_ASSIGN_OR_RETURN(const Tokenizer::Tokens tokens, tokenizer->Encode(text, info.transformer->text_rows));
    set.longest = std::max(set.longest, static_cast<int64_t>(tokens.ids.size()));
    return absl::OkStatus();
  };
  for (const Picture& p : pictures) {
    NS_RETURN_IF_ERROR(add(p.request.prompt));
    if (p.request.negative && p.request.guided()) NS_RETURN_IF_ERROR(add(*p.request.negative));
  }
  return set;
}

Status CheckGivenBits(const std::string& path, const std::vector<Tensor>& bits, const Picture& picture,
                      const ModelInfo& info) {
  const ScaleSchedule& schedule = picture.request.schedule;
  if (bits.size() > schedule.maps.size()) {
    return CallError(fmt::format("{} scales of {} are to be kept", bits.size(), path),
                     fmt::format("the picture has {}", schedule.maps.size()), "a smaller --keep-scales");
  }
  for (size_t k = 0; k < bits.size(); ++k) {
    const MapSize latent = LatentMap(schedule.maps[k], info.patchify);
    const Shape needed({info.vae->bits, latent.h, latent.w});
    if (bits[k].shape() == needed || picture.prune.Skips(static_cast<int64_t>(k))) continue;
    return CallError(fmt::format("{}: the bits of scale {} are {}", path, k, ToString(bits[k].shape())),
                     fmt::format("this picture needs {}", ToString(needed)),
                     "use the size and the model they were made with");
  }
  return absl::OkStatus();
}

StatusOr<std::vector<Tensor>> ReadGivenBits(const GenerateFlags& flags, const ModelInfo& info,
                                            const std::vector<Picture>& pictures) {
  std::vector<Tensor> tokens;
  if (flags.from_bits.empty()) return tokens;
  NS_ASSIGN_OR_RETURN(std::vector<Tensor> bits, ReadBitsFile(flags.from_bits));
  const size_t keep = flags.keep_scales ? static_cast<size_t>(*flags.keep_scales) : bits.size();
  if (keep > bits.size()) {
    return CallError(fmt::format("--keep-scales {}", keep),
                     fmt::format("{} holds {} scales", flags.from_bits, bits.size()));
  }
  bits.resize(keep);
  for (const Picture& p : pictures) NS_RETURN_IF_ERROR(CheckGivenBits(flags.from_bits, bits, p, info));
  for (const Tensor& scale : bits) tokens.push_back(TokenBits(scale.view(), info.patchify, {}));
  return tokens;
}

}  // namespace

Batches SplitIntoBatches(const std::vector<Picture>& pictures, int64_t most) {
  Batches batches;
  std::vector<size_t> open;  // batches that are being filled, one of each kind
  const auto alike = [&](const Picture& a, const Picture& b) {
    return a.request.schedule.maps == b.request.schedule.maps && a.kv_flags == b.kv_flags &&
           a.prune_flags == b.prune_flags;
  };
  for (size_t i = 0; i < pictures.size(); ++i) {
    auto at = std::find_if(open.begin(), open.end(),
                           [&](size_t b) { return alike(pictures[batches[b].front()], pictures[i]); });
    if (at == open.end()) at = open.insert(at, batches.size());
    if (*at < batches.size() && static_cast<int64_t>(batches[*at].size()) == most) *at = batches.size();
    if (*at == batches.size()) batches.emplace_back();
    batches[*at].push_back(i);
  }
  return batches;
}

StatusOr<GenerateTask> PrepareTask(const GenerateFlags& flags, Progress& progress) {
  GenerateTask task;
  NS_ASSIGN_OR_RETURN(task.run.types, ParseTypes(flags.type));
  NS_ASSIGN_OR_RETURN(task.files, OpenFlaggedModel(flags.model));
  for (const std::string& note : task.files.notes) progress.Notice(note);
  NS_ASSIGN_OR_RETURN(task.info, ReadModelInfo(task.files));
  if (!task.info.transformer) {
    return FileError("the model has no transformer", "it is needed to make a picture",
                     "name it by --transformer");
  }
  if (!task.info.vae)
    return FileError("the model has no VAE", "it is needed to make a picture", "name it by --vae");
  NS_ASSIGN_OR_RETURN(PictureList list, MakePictureList(flags, task.info, task.files));
  for (const std::string& notice : list.notices) progress.Notice(notice);
  task.pictures = std::move(list.pictures);
  NS_ASSIGN_OR_RETURN(task.given, ReadGivenBits(flags, task.info, task.pictures));
  NS_ASSIGN_OR_RETURN(task.texts, CollectTexts(task.files, task.info, task.pictures));
  task.run.model = task.files.name;
  task.run.model_flags = flags.model;
  task.run.from_bits = flags.from_bits;
  task.run.keep_scales = static_cast<int>(task.given.size());
  task.run.reference = flags.reference;
  task.batches = SplitIntoBatches(task.pictures, flags.batch);
  NS_ASSIGN_OR_RETURN(task.plan, PlanBatches(task.info, task.pictures, task.batches, task.texts,
                                             task.run.types, !flags.preview.empty()));
  return task;
}

StatusOr<std::vector<std::string>> CheckPlaces(const GenerateFlags& flags, const GenerateTask& task) {
  OutputPlaces places;
  for (const Picture& p : task.pictures) places.pictures.push_back(p.output);
  if (flags.output.ends_with('/')) places.new_folders.push_back(flags.output);
  if (!flags.preview.empty()) places.new_folders.push_back(flags.preview);
  if (!flags.grid.empty()) places.pictures.push_back(flags.grid);
  if (!flags.report.empty()) places.others.push_back(flags.report);
  std::vector<std::string> bits;
  const int64_t total = static_cast<int64_t>(task.pictures.size());
  for (int64_t i = 0; i < total && !flags.save_bits.empty(); ++i) {
    const bool plain = total > 1 && flags.save_bits.find('%') == std::string::npos;
    if (plain) {
      bits.push_back(PathWithNumber(flags.save_bits, i));
    } else {
      NS_ASSIGN_OR_RETURN(std::string path, NumberedPath(flags.save_bits, i, total, 0));
      bits.push_back(std::move(path));
    }
  }
  places.others.insert(places.others.end(), bits.begin(), bits.end());
  const ModelFlags& m = flags.model;
  places.inputs = {m.model, m.transformer, m.vae, m.text_encoder, flags.from_bits, flags.prompts_file};
  for (const Picture& p : task.pictures) {
    if (!p.kv_flags.plan.empty()) places.inputs.push_back(p.kv_flags.plan);
  }
  if (m.model.empty()) places.inputs.push_back(BundledModelPath());
  NS_RETURN_IF_ERROR(CheckOutputs(places));
  return bits;
}

}  // namespace nextscale
