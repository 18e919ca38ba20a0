// Plan files: what is written is read; whatever is not of the form is refused with its name; what a plan
// means for a request.
#include "calibration/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "calibration/apply_plan.h"
#include "tests/calibration/sample_plan.h"

namespace nextscale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Plan, IsReadAsItWasWritten) {
  Plan plan = SamplePlan();
  for (const bool heads : {false, true}) {
    if (heads) plan.asi_heads = std::vector<ScaleTable>(3, ScaleTable(2, {0.1, 0.2, 0.3}));
    const std::string text = PlanText(plan);
    const StatusOr<Plan> read = ParsePlan(text, "p");
    ASSERT_TRUE(read.ok()) << ErrorText(read.status());
    EXPECT_EQ(PlanText(*read), text);
    EXPECT_EQ(read->prompts, plan.prompts);
    EXPECT_EQ(read->seed, plan.seed);
    EXPECT_EQ(read->drafters, plan.drafters);
    EXPECT_EQ(read->refiner_start, plan.refiner_start);
    EXPECT_EQ(read->decay, plan.decay);
    EXPECT_EQ(read->asi, plan.asi);
    EXPECT_EQ(read->asi_heads, plan.asi_heads);
  }
}

TEST(Plan, HasTheKeysOfTheForm) {
  const json file = json::parse(PlanText(SamplePlan()));
  EXPECT_EQ(file["nextscale_plan"], 1);
  EXPECT_EQ(file["schedule"], json::parse("[[1,1],[2,2],[4,6]]"));
  EXPECT_EQ(file["drafters"], json::parse("[[1,1],[2,0]]"));  // [scale, layer]
  EXPECT_EQ(file["drafter_count"], 2);
  EXPECT_EQ(file["decay"], nullptr);
  EXPECT_EQ(file["stability"], json::parse(R"([{"prompts": 1, "overlap": 0.5}])"));
}

// What a change of the sample makes of reading it.
std::string ErrorOf(const std::function<void(json&)>& change) {
  json file = json::parse(PlanText(SamplePlan()));
  change(file);
  const StatusOr<Plan> read = ParsePlan(file.dump(), "my.json");
  return read.ok() ? "" : ErrorText(read.status());
}

TEST(Plan, WhateverIsNotOfTheFormIsNamed) {
  EXPECT_THAT(ErrorOf([](json&) {}), "");
  for (const std::string key : {"nextscale_plan", "model", "depth", "schedule", "top", "drafter_count",
                                "refiner_start", "decay", "window", "pooling", "metric", "prompts", "seed",
                                "current", "top_ratio", "asi", "z", "drafters", "stability"}) {
    EXPECT_THAT(ErrorOf([&](json& f) { f.erase(key); }), HasSubstr(key));
    EXPECT_THAT(ErrorOf([&](json& f) { f[key] = json::object(); }), HasSubstr(key));
  }
  EXPECT_THAT(ErrorOf([](json& f) { f["colour"] = 1; }), HasSubstr("unknown key, \"colour\""));
  EXPECT_THAT(ErrorOf([](json& f) { f["nextscale_plan"] = 2; }), HasSubstr("this version reads 1"));
  EXPECT_THAT(ErrorOf([](json& f) { f["model"] = "abc"; }), HasSubstr("fingerprint"));
  EXPECT_THAT(ErrorOf([](json& f) { f["depth"] = 3; }), HasSubstr("a list in current has 2 entries"));
  EXPECT_THAT(ErrorOf([](json& f) { f["depth"] = 2.5; }), HasSubstr("depth holds 2.5"));
  EXPECT_THAT(ErrorOf([](json& f) { f["schedule"].push_back({8, 0}); }), HasSubstr("schedule holds 0"));
  EXPECT_THAT(ErrorOf([](json& f) { f["schedule"].push_back({8, 8}); }), HasSubstr("current"));
  EXPECT_THAT(ErrorOf([](json& f) { f["z"][1][1] = nullptr; }), HasSubstr("z holds null"));
  EXPECT_THAT(ErrorOf([](json& f) { f["drafters"][0] = {0, 1}; }), HasSubstr("drafters (scale) holds 0"));
  EXPECT_THAT(ErrorOf([](json& f) { f["drafters"][0] = {1, 2}; }), HasSubstr("drafters (layer) holds 2"));
  EXPECT_THAT(ErrorOf([](json& f) { f["drafters"][0] = {2, 0}; }), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf([](json& f) { f["drafter_count"] = 3; }), HasSubstr("drafter_count is 3"));
  EXPECT_THAT(ErrorOf([](json& f) { f["seed"] = -1; }), HasSubstr("seed"));
  EXPECT_THAT(ErrorOf([](json& f) { f["prompts"] = json::array(); }), HasSubstr("prompts has 0 entries"));
  EXPECT_THAT(ErrorOf([](json& f) { f["stability"][0]["overlap"] = 2; }), HasSubstr("overlap"));
  EXPECT_THAT(ErrorOf([](json& f) {
                f["asi_heads"] = {{{1}, {1}}, {{1}, {1}}, {{1}, {1, 2}}};
              }),
              HasSubstr("asi_heads"));
  EXPECT_THAT(ErrorOf([](json& f) { f["pooling"] = "median"; }), HasSubstr("pooling"));
  EXPECT_FALSE(ParsePlan("{", "p").ok());
  EXPECT_THAT(ErrorText(ParsePlan("[]", "my.json").status()), HasSubstr("my.json is not a plan"));
}

TEST(Plan, IsForItsModelAndNumberOfScalesOnly) {
  const StatusOr<PlanFile> file = ParsePlanFile(PlanText(SamplePlan()), "my.json");
  ASSERT_TRUE(file.ok());
  const PlanTarget own{.fingerprint = SamplePlan().model, .layers = 2};
  EXPECT_TRUE(CheckPlanFits(*file, own).ok());
  PlanTarget other = own;
  other.fingerprint[0] = 'f';
  EXPECT_THAT(ErrorText(CheckPlanFits(*file, other)), HasSubstr("my.json is a plan for another model"));
  EXPECT_EQ(ExitCode(CheckPlanFits(*file, other)), 2);
  other = own;
  other.layers = 3;
  EXPECT_THAT(ErrorText(CheckPlanFits(*file, other)), HasSubstr("2 layers of 0 heads, this one 3 of 0"));
  Plan by_head = SamplePlan();
  by_head.asi_heads.assign(3, ScaleTable(2, {0.1, 0.2, 0.3}));
  const StatusOr<PlanFile> heads = ParsePlanFile(PlanText(by_head), "heads.json");
  ASSERT_TRUE(heads.ok());
  other = own;
  other.heads = 4;
  EXPECT_THAT(ErrorText(CheckPlanFits(*heads, other)), HasSubstr("2 layers of 3 heads, this one 2 of 4"));
  other.heads = 3;
  EXPECT_TRUE(CheckPlanFits(*heads, other).ok());
  KvOptions kv;
  EXPECT_THAT(ErrorText(ApplyPlan(*file, 4, kv)), HasSubstr("for pictures of 3 scales"));
}

TEST(Plan, SetsWhatTheRequestDoesNot) {
  const PlanFile file = *ParsePlanFile(PlanText(SamplePlan()), "my.json");
  KvOptions kv;
  ASSERT_TRUE(ApplyPlan(file, 3, kv).ok());
  EXPECT_EQ(kv.drafters, SamplePlan().drafters);
  EXPECT_EQ(kv.refiner_start, 600);
  EXPECT_EQ(kv.decay, std::nullopt);  // follows from the budget
  EXPECT_EQ(kv.window, 9);
  EXPECT_EQ(kv.pooling, Pooling::kMax);
  KvOptions own{.window = 4, .pooling = Pooling::kNone, .refiner_start = 1};
  ASSERT_TRUE(ApplyPlan(file, 3, own).ok());
  EXPECT_EQ(own.refiner_start, 1);
  EXPECT_EQ(own.window, 4);
  EXPECT_EQ(own.pooling, Pooling::kNone);
}

}  // namespace
}  // namespace nextscale
