#include "cli/parity_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// These throw json's exceptions, which name the field; ReadParityCase turns them into a Status.

std::string ModelPath(const json& request, const std::string& folder, const char* part) {
  const json& model = request.at("model");
  return model.contains(part) ? folder + "/" + model.at(part).get<std::string>() : std::string();
}

MapSize Map(const json& pair) { return {pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>()}; }

ScaleSchedule Schedule(const json& request) {
  ScaleSchedule s;
  s.ratio = request.at("ratio").get<double>();
  for (const json& map : request.at("scales")) s.maps.push_back(Map(map));
  s.rope_grid = request.contains("rope_grid") ? Map(request.at("rope_grid")) : s.maps.back();
  return s;
}

// {"ratios": {"9": 0.4, ...}, "layers": [1, 2], "source": 8}, or null.
PruneOptions Pruning(const json& pruner) {
  PruneOptions out;
  if (pruner.is_null()) return out;
  for (const auto& [scale, left_out] : pruner.at("ratios").items())
    out.ratios.push_back({std::stoll(scale), left_out.get<double>()});
  out.source = pruner.at("source").get<int64_t>();
  const auto layers = pruner.at("layers").get<std::vector<int64_t>>();
  out.layers = {layers.at(0), layers.back()};
  return out;
}

void FillGenerate(const json& request, ParityCase& out) {
  out.schedule = Schedule(request);
  if (!request.at("negative_prompt").is_null())
    out.negative = request.at("negative_prompt").get<std::string>();
  request.at("seeds").get_to(out.seeds);
  request.at("cfg").get_to(out.cfg);
  request.at("tau").get_to(out.tau);
  request.at("top_p").get_to(out.top_p);
  request.at("top_k").get_to(out.top_k);
  request.at("cfg_insertion_layer").get_to(out.cfg_insertion_layer);
  out.policy = request.at("policy").dump();
  out.prune = Pruning(request.at("pruner"));
}

void FillCalibration(const json& request, ParityCase& out) {
  request.at("top").get_to(out.calibration.top);
  request.at("drafter_count").get_to(out.calibration.drafter_count);
  request.at("budget").get_to(out.calibration.budget);
  request.at("refiner_budget").get_to(out.calibration.refiner_budget);
  request.at("decay").get_to(out.calibration.decay);
  request.at("window").get_to(out.calibration.window);
}

ParityCase Parse(const json& request, const std::string& folder) {
  ParityCase out;
  out.folder = folder;
  request.at("case").get_to(out.name);
  request.at("kind").get_to(out.kind);
  out.model.transformer = ModelPath(request, folder, "transformer");
  out.model.vae = ModelPath(request, folder, "vae");
  out.model.text_encoder = ModelPath(request, folder, "text_encoder");
  for (const auto& [name, value] : request.at("options").items()) out.model.options[name] = value.dump();
  out.patchify = request.at("options").value("apply_spatial_patchify", 0) != 0;
  const json& tolerance = request.at("tolerance");
  out.tolerance = {tolerance.at("float").get<double>(), tolerance.at("image").get<double>(),
                   tolerance.at("pixels").get<int>()};
  if (out.kind != "encode") request.at("prompts").get_to(out.prompts);
  if (out.kind == "generate" || out.kind == "calibrate") FillGenerate(request, out);
  if (out.kind == "calibrate") FillCalibration(request, out);
  if (out.kind == "encode") {
    out.schedule = Schedule(request);
    out.input = folder + "/" + request.at("input").get<std::string>();
  }
  return out;
}

// What json's types can't tell.
Status CheckCase(const ParityCase& c, const std::string& path) {
  const auto bad = [&](std::string why) { return FileError(path + " is not a request of golden form", why); };
  if (c.kind != "generate" && c.kind != "encode" && c.kind != "text" && c.kind != "calibrate") {
    return bad(fmt::format("kind is \"{}\"; expected generate, encode, text or calibrate", c.kind));
  }
  if (c.kind == "text") return absl::OkStatus();
  if (c.schedule.maps.empty()) return bad("scales is empty");
  for (MapSize m : c.schedule.maps) {
    if (m.h < 1 || m.w < 1 || m.h > 4096 || m.w > 4096)
      return bad(fmt::format("a scale is {} x {}", m.h, m.w));
  }
  if (c.kind != "encode" && (c.prompts.empty() || c.seeds.size() != c.prompts.size())) {
    return bad(fmt::format("{} prompts, {} seeds; one of each an image is expected", c.prompts.size(),
                           c.seeds.size()));
  }
  const ParityCase::Calibration& a = c.calibration;
  if (c.kind == "calibrate" && (a.top < 1 || a.drafter_count < 0 || a.budget < 1 || a.window < 1))
    return bad("top, drafter_count, budget and window are numbers above 0");
  return absl::OkStatus();
}

}  // namespace

StatusOr<ParityCase> ReadParityCase(const std::string& folder) {
  const std::string path = folder + "/request.json";
  NS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  ParityCase out;
  try {
    out = Parse(json::parse(text), folder);
  } catch (const std::exception& e) {  // json's, or a scale that is no number
    return FileError(path + " is not a request of golden form", e.what());
  }
  NS_RETURN_IF_ERROR(CheckCase(out, path));
  return out;
}

StatusOr<std::vector<std::string>> FindParityCases(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path + "/request.json", error)) return std::vector<std::string>{path};
  std::vector<std::string> out;
  for (auto it = fs::directory_iterator(path, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (fs::is_regular_file(it->path() / "request.json", error)) out.push_back(it->path().string());
  }
  if (out.empty()) {
    return CallError(path + " holds no case",
                     error ? error.message() : "neither it nor a folder in it has a request.json",
                     "a case folder, or a folder of them, of the form of tests/golden");
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace nextscale
