// Plots: escaping, and places along axes.
#include "cli/svg.h"

#include <gmock/gmock.h>

#include <limits>

namespace nextscale {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;
using testing::StartsWith;

TEST(Svg, TextIsEscaped) {
  Svg svg(40, 30);
  svg.Text({1, 2}, "a<b & \"c\"\x01>", {.anchor = "end"});
  const std::string document = svg.Finished();
  EXPECT_THAT(document, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"30\""));
  EXPECT_THAT(document,
              HasSubstr("text-anchor=\"end\" fill=\"#333333\">a&lt;b &amp; &quot;c&quot; &gt;</text>"));
  EXPECT_THAT(document, EndsWith("</svg>\n"));
}

TEST(Svg, Elements) {
  Svg svg(10, 10);
  const SvgPoint points[] = {{0, 1}, {2.346, 3}};
  svg.Polyline(points, "red", 2);
  svg.Circle({1.5, 2}, 3, SvgColour(0));
  EXPECT_THAT(svg.Finished(), HasSubstr("<polyline points=\"0,1 2.35,3\" fill=\"none\" stroke=\"red\""));
  EXPECT_THAT(svg.Finished(), HasSubstr("<circle cx=\"1.5\" cy=\"2\" r=\"3\" fill=\"#0072b2\"/>"));
}

TEST(SvgAxis, PlacesOfValues) {
  const SvgAxis y{.low = 10, .high = 30, .from = 200, .to = 100};
  EXPECT_DOUBLE_EQ(y.At(10), 200);
  EXPECT_DOUBLE_EQ(y.At(15), 175);
  EXPECT_DOUBLE_EQ(y.At(std::numeric_limits<double>::infinity()), 100);
  EXPECT_DOUBLE_EQ(y.At(-5), 200);
  const SvgAxis x{.low = 1, .high = 100, .from = 0, .to = 50, .logarithmic = true};
  EXPECT_NEAR(x.At(10), 25, 1e-9);
}

TEST(SvgAxis, TicksAreRound) {
  const auto near = [](std::vector<double> expected) { return Pointwise(DoubleNear(1e-9), expected); };
  EXPECT_THAT((SvgAxis{.low = 0, .high = 1}.Ticks()), near({0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_THAT((SvgAxis{.low = 12.3, .high = 31}.Ticks()), near({15, 20, 25, 30}));
  EXPECT_THAT((SvgAxis{.low = -0.3, .high = 0.2}.Ticks()), near({-0.3, -0.2, -0.1, 0, 0.1, 0.2}));
  EXPECT_THAT((SvgAxis{.low = 4, .high = 100, .logarithmic = true}.Ticks()), near({5, 10, 20, 50, 100}));
}

TEST(SvgAxis, DrawnWithTitlesAndLegend) {
  Svg svg(200, 100);
  DrawAxes(svg, {.title = "KV, %", .from = 40, .to = 190}, {.title = "PSNR, dB", .from = 80, .to = 10});
  DrawLegend(svg, {10, 10}, std::vector<std::string>{"snapkv", "a & b"});
  const std::string document = svg.Finished();
  for (const char* part :
       {">KV, %</text>", ">0</text>", ">PSNR, dB</text>", "rotate(-90", ">0.4</text>", ">a &amp; b</text>"})
    EXPECT_THAT(document, HasSubstr(part));
  EXPECT_THAT(document, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace nextscale
