// Strict: every key of the form is there, no other, and all of them agree with each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/plan.h"

namespace nextscale {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 20> kKeys = {
    "nextscale_plan", "model",  "depth",   "schedule", "top",       "drafter_count", "refiner_start",
    "decay",          "window", "pooling", "metric",   "prompts",   "seed",          "current",
    "top_ratio",      "asi",    "z",       "drafters", "stability", "asi_heads"};
constexpr int64_t kMostLayers = 1024, kMostScales = 64, kMostEdge = 4096, kMostHeads = 1024;
constexpr int64_t kMostTokens = int64_t{1} << 30;

// What is wrong with a value; ParsePlan makes a Status of it. Stops in this file, as json's exceptions do.
struct Wrong {
  std::string what;
};

[[noreturn]] void Fail(std::string what) { throw Wrong{std::move(what)}; }

int64_t Whole(const json& value, std::string_view key, int64_t least, int64_t most) {
  const int64_t number = value.is_number_integer() ? value.get<int64_t>() : least - 1;
  if (number < least || number > most)
    Fail(fmt::format("{} holds {}; expected a whole number, {} to {}", key, value.dump(), least, most));
  return number;
}

double Real(const json& value, std::string_view key) {
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!std::isfinite(number)) Fail(fmt::format("{} holds {}; expected a number", key, value.dump()));
  return number;
}

const json& List(const json& value, std::string_view key, int64_t least, int64_t most) {
  if (!value.is_array()) Fail(fmt::format("{} holds something other than a list", key));
  const int64_t size = static_cast<int64_t>(value.size());
  if (size < least || size > most)
    Fail(least == most ? fmt::format("a list in {} has {} entries; expected {}", key, size, least)
                       : fmt::format("{} has {} entries; expected {} to {}", key, size, least, most));
  return value;
}

std::string Text(const json& value, std::string_view key) {
  if (!value.is_string()) Fail(fmt::format("{} holds {}; expected text", key, value.dump()));
  return value.get<std::string>();
}

std::optional<int64_t> TokensOrNull(const json& value, std::string_view key, int64_t least) {
  if (value.is_null()) return std::nullopt;
  return Whole(value, key, least, kMostTokens);
}

std::vector<double> Row(const json& value, std::string_view key, int64_t least, int64_t most) {
  std::vector<double> row;
  for (const json& number : List(value, key, least, most)) row.push_back(Real(number, key));
  return row;
}

class PlanParser {
 public:
  explicit PlanParser(const json& file) : file_(file) {}

  Plan Parse() {
    CheckKeys();
    ReadModel();
    plan_.top = Whole(file_.at("top"), "top", 1, kMostTokens);
    plan_.refiner_start = TokensOrNull(file_.at("refiner_start"), "refiner_start", 0);
    plan_.decay = TokensOrNull(file_.at("decay"), "decay", 0);
    plan_.window = TokensOrNull(file_.at("window"), "window", 1);
    const StatusOr<Pooling> pooling = ParsePooling(Text(file_.at("pooling"), "pooling"));
    if (!pooling.ok()) Fail("pooling is unknown");
    plan_.pooling = *pooling;
    const StatusOr<RoleMetric> metric = ParseRoleMetric(Text(file_.at("metric"), "metric"));
    if (!metric.ok()) Fail("metric is unknown");
    plan_.metric = *metric;
    for (const json& prompt : List(file_.at("prompts"), "prompts", 1, 1 << 20))
      plan_.prompts.push_back(Text(prompt, "prompts"));
    if (!file_.at("seed").is_number_unsigned()) Fail("seed is no number from 0");
    plan_.seed = file_.at("seed").get<uint64_t>();
    for (const auto& [key, table] : {std::pair("current", &plan_.current),
                                     {"top_ratio", &plan_.top_ratio},
                                     {"asi", &plan_.asi},
                                     {"z", &plan_.z}})
      ReadTable(key, *table);
    ReadDrafters();
    ReadStability();
    if (file_.contains("asi_heads")) ReadHeads();
    return std::move(plan_);
  }

 private:
  void CheckKeys() const {
    if (!file_.is_object() || !file_.contains("nextscale_plan")) Fail("it has no key nextscale_plan");
    if (file_.at("nextscale_plan") != 1)
      Fail(fmt::format("nextscale_plan is {}; this version reads 1", file_.at("nextscale_plan").dump()));
    for (const auto& [key, value] : file_.items()) {
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
        Fail(fmt::format("it has an unknown key, {}", json(key).dump()));
    }
    for (std::string_view key : kKeys) {
      if (key != "asi_heads" && !file_.contains(key)) Fail(fmt::format("it lacks the key {}", key));
    }
  }

  void ReadModel() {
    plan_.model = Text(file_.at("model"), "model");
    if (plan_.model.size() != 64 || plan_.model.find_first_not_of("0123456789abcdef") != std::string::npos)
      Fail("model is no fingerprint of 64 hexadecimal digits");
    plan_.depth = Whole(file_.at("depth"), "depth", 1, kMostLayers);
    for (const json& map : List(file_.at("schedule"), "schedule", 2, kMostScales)) {
      List(map, "schedule", 2, 2);
      plan_.schedule.push_back(
          {Whole(map[0], "schedule", 1, kMostEdge), Whole(map[1], "schedule", 1, kMostEdge)});
    }
  }

  void ReadTable(const char* key, ScaleTable& table) const {
    for (const json& row : List(file_.at(key), key, plan_.scales(), plan_.scales()))
      table.push_back(Row(row, key, plan_.depth, plan_.depth));
  }

  void ReadDrafters() {
    plan_.drafters.assign(plan_.scales(), std::vector<bool>(plan_.depth, false));
    for (const json& pair : List(file_.at("drafters"), "drafters", 0, (plan_.scales() - 1) * plan_.depth)) {
      List(pair, "drafters", 2, 2);
      const int64_t k = Whole(pair[0], "drafters (scale)", 1, plan_.scales() - 1),
                    l = Whole(pair[1], "drafters (layer)", 0, plan_.depth - 1);
      if (plan_.drafters[k][l]) Fail(fmt::format("drafters names scale {}, layer {} twice", k, l));
      plan_.drafters[k][l] = true;
    }
    const int64_t count = static_cast<int64_t>(file_.at("drafters").size());
    if (Whole(file_.at("drafter_count"), "drafter_count", 0, kMostTokens) != count)
      Fail(fmt::format("drafter_count is {}, but drafters has {}", file_.at("drafter_count").dump(), count));
  }

  void ReadStability() {
    for (const json& point : List(file_.at("stability"), "stability", 0, 1000)) {
      if (!point.is_object() || point.size() != 2 || !point.contains("prompts") || !point.contains("overlap"))
        Fail(R"(stability holds something other than {"prompts", "overlap"})");
      const double overlap = Real(point.at("overlap"), "stability");
      if (overlap < 0 || overlap > 1) Fail("stability holds an overlap outside [0, 1]");
      plan_.stability.push_back({Whole(point.at("prompts"), "stability", 1, 1 << 20), overlap});
    }
  }

  void ReadHeads() {
    int64_t heads = 0;
    for (const json& layers : List(file_.at("asi_heads"), "asi_heads", plan_.scales(), plan_.scales())) {
      ScaleTable rows;
      for (const json& row : List(layers, "asi_heads", plan_.depth, plan_.depth)) {
        rows.push_back(Row(row, "asi_heads", heads ? heads : 1, heads ? heads : kMostHeads));
        heads = static_cast<int64_t>(rows.back().size());
        if (std::any_of(rows.back().begin(), rows.back().end(), [](double x) { return x < 0; }))
          Fail("asi_heads holds a negative number");
      }
      plan_.asi_heads.push_back(std::move(rows));
    }
  }

  const json& file_;
  Plan plan_;
};

}  // namespace

StatusOr<Plan> ParsePlan(std::string_view text, const std::string& name) {
  std::string why;
  try {
    const json file = json::parse(text);
    return PlanParser(file).Parse();
  } catch (const Wrong& wrong) {
    why = wrong.what;
  } catch (const json::exception& error) {
    why = error.what();
  }
  return FileError(name + " is not a plan", why, "make one with `nextscale calibrate`");
}

}  // namespace nextscale
