// The work of the published models against the figures that their papers' settings give (spec:
// performance.md): Infinity-2B, 1024x1024, two streams.
#include "cli/bench_flop.h"

#include <gtest/gtest.h>

#include "cli/bench_model.h"
#include "cli/bench_run.h"

namespace nextscale {
namespace {

int64_t Parameters(const std::vector<TensorInfo>& tensors) {
  int64_t n = 0;
  for (const TensorInfo& t : tensors) n += t.shape.elements();
  return n;
}

BenchWork WorkAt1M(std::string_view preset) {
  BenchSettings settings;
  settings.schedule = MakeSchedule(1.0, 13);
  return WorkOf(*BenchPreset(preset), settings).value();
}

// The figures are given to two or three digits.
TEST(BenchFlopTest, Infinity2B) {
  const BenchWork work = WorkAt1M("infinity-2b");
  EXPECT_NEAR(work.linear / 1e12, 79, 0.5);
  EXPECT_NEAR(work.attention / 1e12, 36, 0.5);
  EXPECT_NEAR(work.text / 1e12, 0.15, 0.005);
  EXPECT_NEAR(work.vae / 1e12, 9.85, 0.01);
}

TEST(BenchFlopTest, PresetsHaveTheSizesTheyAreNamedBy) {
  const std::pair<const char*, double> sizes[] = {
      {"infinity-125m", 0.125e9}, {"infinity-2b", 2.2e9}, {"infinity-8b", 8.4e9}, {"infinity-20b", 20e9}};
  for (const auto& [name, parameters] : sizes) {
    const StatusOr<ModelInfo> info = BenchPreset(name);
    ASSERT_TRUE(info.ok()) << name;
    EXPECT_NEAR(static_cast<double>(Parameters(TransformerTensors(*info->transformer))) / parameters, 1.0,
                0.01)
        << name;
  }
}

TEST(BenchFlopTest, AnUnknownPresetIsAnErrorThatListsThem) {
  const Status status = BenchPreset("infinity-3b").status();
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_NE(ErrorText(status).find("infinity-125m, infinity-2b"), std::string::npos);
}

}  // namespace
}  // namespace nextscale
