// draw PACKAGE OUTPUT.png: a picture by the library alone, as README.md shows it.
#include <cstdio>

#include "engine/engine.h"

namespace {

using namespace nextscale;

StatusOr<Image> Draw(const std::string& package, const std::string& prompt, uint64_t seed) {
  const OpContext ops;
  const EngineTypes types{};  // bf16
  NS_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel({.model = package}));
  NS_ASSIGN_OR_RETURN(const ModelInfo info, ReadModelInfo(files));
  NS_ASSIGN_OR_RETURN(const std::vector<PromptText> texts,
                      EncodePrompts(files, info, {prompt}, types.text, ops, nullptr));
  NS_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(files, info, types, ops));
  PictureRequest request{.prompt = prompt, .seed = seed, .schedule = MakeSchedule(1.0, info.trained_scales)};
  request.cfg.assign(request.schedule.scales(), 3.0f);
  request.tau.assign(request.schedule.scales(), 0.7f);
  const ImageJob job{.request = request, .prompt = &texts[0]};
  NS_ASSIGN_OR_RETURN(const BatchResult made, engine->Generate({&job, 1}, {}, ops));
  return engine->Decode(made.images[0].summed.view(), ops, nullptr);
}

Status DrawTo(const std::string& package, const std::string& output) {
  NS_ASSIGN_OR_RETURN(const Image image, Draw(package, "red apple, fluent 3d style", 7));
  return WriteImage(output, image, {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Status status = DrawTo(argv[1], argv[2]);
  if (!status.ok()) std::fputs(ErrorText(status).c_str(), stderr);
  return ExitCode(status);
}
