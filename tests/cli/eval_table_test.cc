// Quartiles, the table, the JSON and the plots of `eval`.
#include "cli/eval_table.h"

#include <gmock/gmock.h>

#include <limits>

#include "cli/eval_figures.h"

namespace nextscale {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void ExpectQuartiles(const std::vector<double>& values, double first, double median, double third) {
  const Quartiles q = QuartilesOf(values);
  EXPECT_DOUBLE_EQ(q.first, first);
  EXPECT_DOUBLE_EQ(q.median, median);
  EXPECT_DOUBLE_EQ(q.third, third);
}

// numpy.percentile(values, [25, 50, 75]).
TEST(Quartiles, AsNumPy) {
  ExpectQuartiles({7}, 7, 7, 7);
  ExpectQuartiles({4, 1}, 1.75, 2.5, 3.25);
  ExpectQuartiles({3, 1, 2, 5, 4}, 2, 3, 4);
  ExpectQuartiles({10, 0, 3, 6}, 2.25, 4.5, 7);
}

TEST(Quartiles, OfEqualPictures) {
  ExpectQuartiles({kInfinity, kInfinity}, kInfinity, kInfinity, kInfinity);
  ExpectQuartiles({kInfinity, 20, 30}, 25, 30, kInfinity);
}

std::vector<EvalResult> Results() {
  EvalResult full{.variant = {.name = "full"}, .seconds = 4, .kv_bytes = 4 << 20};
  full.distances = {{kInfinity, 1, 1}, {kInfinity, 1, 1}};
  EvalResult snapkv{.variant = {.name = "snapkv 10%", .kv = {.policy = "snapkv", .budget = "10%"}},
                    .seconds = 3,
                    .kv_bytes = 1 << 20};
  snapkv.distances = {{20, 0.5, 0.75}, {30, 0.75, 1}};
  EvalResult pruned{.variant = {.name = "snapkv 20% 6=0.5",
                                .kv = {.policy = "snapkv", .budget = "20%"},
                                .prune = {.ratios = "6=0.5"}},
                    .seconds = 2,
                    .kv_bytes = 2 << 20};
  pruned.distances = {{kInfinity, 1, 1}, {10, 0.25, 0.5}};
  return {full, snapkv, pruned};
}

TEST(EvalText, IsAMarkdownTable) {
  EXPECT_EQ(EvalText(Results()),
            "| setting          | PSNR dB |      quartiles |   SSIM | bits % |  time | KV MiB |  KV % |\n"
            "|------------------|--------:|---------------:|-------:|-------:|------:|-------:|------:|\n"
            "| full             |     inf |     inf to inf | 1.0000 |  100.0 | 1.000 |  4.000 | 100.0 |\n"
            "| snapkv 10%       |   25.00 | 22.50 to 27.50 | 0.6250 |   87.5 | 0.750 |  1.000 |  25.0 |\n"
            "| snapkv 20% 6=0.5 |     inf |     inf to inf | 0.6250 |   75.0 | 0.500 |  2.000 |  50.0 |\n");
}

TEST(EvalJson, HasEveryValueAndNoInfinity) {
  const nlohmann::ordered_json json = EvalJson(Results());
  ASSERT_EQ(json.size(), 3u);
  EXPECT_TRUE(json[0]["psnr"]["median"].is_null());
  EXPECT_EQ(json[1]["name"], "snapkv 10%");
  EXPECT_EQ(json[1]["kv"], "snapkv");
  EXPECT_EQ(json[1]["kv_budget"], "10%");
  EXPECT_EQ(json[1]["psnr"]["first_quartile"], 22.5);
  EXPECT_EQ(json[1]["bits_agreeing"]["values"], nlohmann::ordered_json({0.75, 1}));
  EXPECT_EQ(json[1]["transformer_of_full"], 0.75);
  EXPECT_EQ(json[1]["kv_of_full"], 0.25);
  EXPECT_EQ(json[2]["prune_ratios"], "6=0.5");
  EXPECT_TRUE(json[2]["psnr"]["values"][0].is_null());
}

TEST(EvalFigures, DrawEverySetting) {
  const std::vector<EvalFigure> figures = EvalFigures(Results());
  ASSERT_EQ(figures.size(), EvalFigureNames().size());
  for (const EvalFigure& figure : figures) {
    EXPECT_THAT(figure.svg, HasSubstr("</svg>"));
    EXPECT_THAT(figure.svg, Not(HasSubstr("nan"))) << figure.name;
    EXPECT_THAT(figure.svg, Not(HasSubstr("inf"))) << figure.name;
  }
  EXPECT_THAT(figures[0].svg, HasSubstr(">snapkv 6=0.5</text>"));
  for (size_t i = 1; i < figures.size(); ++i) EXPECT_THAT(figures[i].svg, HasSubstr(">snapkv 10%</text>"));
}

TEST(EvalFigures, ThereAreNoneOfTheFullCacheAlone) {
  EXPECT_THAT(EvalFigures(std::vector<EvalResult>{Results().front()}), IsEmpty());
}

TEST(EvalPictureName, NeedsNoQuoting) {
  EXPECT_EQ(EvalPictureName(3, "full"), "0003-full.png");
  EXPECT_EQ(EvalPictureName(12345, "scalekv 10% 5=0.5,6=1"), "12345-scalekv-10pct-5=0.5_6=1.png");
}

}  // namespace
}  // namespace nextscale
