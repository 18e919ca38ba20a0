#include "cli/heat_map.h"

#include <gmock/gmock.h>

namespace nextscale {
namespace {

double Lightness(Rgb c) { return 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b; }

TEST(Shade, GrowsLighterAllTheWay) {
  for (int i = 0; i < 100; ++i)
    EXPECT_LT(Lightness(Shade(i / 100.0)), Lightness(Shade((i + 1) / 100.0))) << i;
  EXPECT_EQ(Lightness(Shade(-1)), Lightness(Shade(0)));
  EXPECT_EQ(Lightness(Shade(2)), Lightness(Shade(1)));
}

TEST(MatrixPicture, RowsAreRelativeToTheirLargestAndNothingIsWhite) {
  const Image picture = MatrixPicture({0.5f, 0.0f, 1e-9f, 0.01f}, 2, 4);
  const auto pixel = [&](int i) {
    return Rgb{picture.rgb[3 * i], picture.rgb[3 * i + 1], picture.rgb[3 * i + 2]};
  };
  EXPECT_EQ(Lightness(pixel(0)), Lightness(Shade(1)));
  EXPECT_EQ(picture.rgb[3], 255);
  EXPECT_EQ(Lightness(pixel(2)), Lightness(Shade(0)));
  EXPECT_EQ(Lightness(pixel(3)), Lightness(Shade(1)));
}

TEST(HeatTable, SaysLabelsAndNumbersAndRingsWhatIsMarked) {
  Svg svg(400, 200);
  DrawHeatTable(svg, {0, 0}, 400,
                {.title = "a < b",
                 .row_title = "row",
                 .column_title = "column",
                 .rows = {"first"},
                 .values = {{1, 2}},
                 .marked = {{false, true}},
                 .number = [](double x) { return std::to_string(static_cast<int>(10 * x)); }},
                true);
  const std::string text = svg.Finished();
  EXPECT_THAT(text, testing::HasSubstr("a &lt; b"));
  EXPECT_THAT(text, testing::HasSubstr(">first<"));
  EXPECT_THAT(text, testing::HasSubstr(">20<"));
  EXPECT_THAT(text, testing::HasSubstr("<polyline"));
}

}  // namespace
}  // namespace nextscale
