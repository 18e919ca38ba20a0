#include "cli/batch_jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace nextscale {
namespace {

// Of a prompt, for a notice.
std::string Beginning(const std::string& text) {
  constexpr size_t kCharacters = 40;
  std::string out;
  for (const char32_t c : CodePoints(text).substr(0, kCharacters)) AppendUtf8(c, out);
  return out;
}

std::vector<Tensor> CopyOf(const std::vector<Tensor>& bits) {
  std::vector<Tensor> copy;
  for (const Tensor& scale : bits) {
    Tensor t(scale.dtype(), scale.shape(), {});
    std::copy_n(scale.data<uint8_t>(), scale.elements(), t.data<uint8_t>());
    copy.push_back(std::move(t));
  }
  return copy;
}

}  // namespace

StatusOr<std::vector<PromptText>> EncodeTexts(const GenerateTask& task, const OpContext& ops,
                                              const CancelToken* cancel, Progress& progress) {
  NS_ASSIGN_OR_RETURN(std::vector<PromptText> texts, EncodePrompts(task.files, task.info, task.texts.texts,
                                                                   task.run.types.text, ops, cancel));
  ops.scratch.Clear();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].cut) continue;
    progress.Notice(fmt::format("a prompt was cut to the {} tokens that the model reads: {}...",
                                texts[i].ids.size(), Beginning(task.texts.texts[i])));
  }
  return texts;
}

BatchJobs JobsOf(const GenerateTask& task, const std::vector<size_t>& batch,
                 const std::vector<PromptText>& texts) {
  BatchJobs out;
  for (const size_t i : batch) {
    const PictureRequest& r = task.pictures[i].request;
    ImageJob job{.request = r, .prompt = &texts[task.texts.index.at(r.prompt)]};
    if (r.negative && r.guided()) job.negative = &texts[task.texts.index.at(*r.negative)];
    if (!task.given.empty()) {
      out.given.push_back(MakeGivenBits(CopyOf(task.given), r));
      job.bits = out.given.back().get();
    }
    out.jobs.push_back(std::move(job));
  }
  return out;
}

}  // namespace nextscale
