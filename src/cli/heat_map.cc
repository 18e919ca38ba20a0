#include "cli/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr double kRowHeight = 22, kLabelWidth = 76, kTitleHeight = 24, kColumnLabels = 34;
constexpr double kLeastTextWidth = 26;  // of a cell that says its number

std::string Hex(Rgb c) { return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

struct Range {
  double low = 0, high = 0;
  double Unit(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

Range RangeOf(std::span<const std::vector<double>> rows) {
  Range range{rows[0][0], rows[0][0]};
  for (const std::vector<double>& row : rows) {
    const auto [low, high] = std::minmax_element(row.begin(), row.end());
    range = {std::min(range.low, *low), std::max(range.high, *high)};
  }
  return range;
}

void DrawRing(Svg& svg, SvgPoint corner, double width, double height) {
  constexpr double kInset = 1.5;
  const double x0 = corner.x + kInset, x1 = corner.x + width - kInset;
  const double y0 = corner.y + kInset, y1 = corner.y + height - kInset;
  const std::array<SvgPoint, 5> ring = {{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}, {x0, y0}}};
  svg.Polyline(ring, "#d55e00", 3);
}

}  // namespace

Rgb Shade(double unit) {
  // Lightness rises evenly from the first to the last.
  constexpr std::array<std::array<double, 3>, 6> kStops = {
      {{13, 8, 70}, {75, 3, 125}, {145, 25, 125}, {205, 75, 85}, {245, 140, 45}, {248, 225, 70}}};
  const double at = std::clamp(unit, 0.0, 1.0) * (kStops.size() - 1);
  const size_t i = std::min(static_cast<size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(i);
  const auto channel = [&](size_t c) {
    return static_cast<uint8_t>(std::lround(kStops[i][c] + part * (kStops[i + 1][c] - kStops[i][c])));
  };
  return {channel(0), channel(1), channel(2)};
}

double DrawHeatTable(Svg& svg, SvgPoint corner, double width, const HeatTable& t, bool by_row) {
  NS_CHECK(!t.values.empty() && t.rows.size() == t.values.size(), "{} rows", t.values.size());
  const size_t columns = t.values[0].size();
  const double left = corner.x + kLabelWidth, cell = (width - kLabelWidth) / static_cast<double>(columns);
  const double top = corner.y + kTitleHeight + kColumnLabels;
  svg.Text({corner.x, corner.y + 14}, t.title, {.size = 13});
  svg.Text({left, top - 18}, t.column_title, {.size = 11});
  svg.Text({left - 8, top - 4}, t.row_title, {.size = 11, .anchor = "end"});
  const size_t step = 1 + static_cast<size_t>(kLeastTextWidth / 2 / cell);
  for (size_t c = 0; c < columns; c += step)
    svg.Text({left + cell * (static_cast<double>(c) + 0.5), top - 4}, std::to_string(c),
             {.size = 10, .anchor = "middle"});
  const Range all = RangeOf(t.values);
  for (size_t r = 0; r < t.values.size(); ++r) {
    const Range range = by_row ? RangeOf(std::span(&t.values[r], 1)) : all;
    const double y = top + kRowHeight * static_cast<double>(r);
    svg.Text({left - 8, y + kRowHeight / 2 + 4}, t.rows[r], {.size = 11, .anchor = "end"});
    for (size_t c = 0; c < columns; ++c) {
      const SvgPoint at{left + cell * static_cast<double>(c), y};
      const double unit = range.Unit(t.values[r][c]);
      svg.Rect(at, cell, kRowHeight, Hex(Shade(unit)));
      if (t.number && cell >= kLeastTextWidth)
        svg.Text({at.x + cell / 2, y + kRowHeight / 2 + 4}, t.number(t.values[r][c]),
                 {.size = 10, .anchor = "middle", .colour = unit < 0.6 ? "white" : "black"});
    }
    for (size_t c = 0; c < columns && !t.marked.empty(); ++c) {
      if (t.marked[r][c]) DrawRing(svg, {left + cell * static_cast<double>(c), y}, cell, kRowHeight);
    }
  }
  return top + kRowHeight * static_cast<double>(t.values.size());
}

Image MatrixPicture(const std::vector<float>& cells, int64_t side, double decades) {
  Image picture{.width = side, .height = side, .rgb = std::vector<uint8_t>(3 * side * side, 255)};
  for (int64_t r = 0; r < side; ++r) {
    const float most = *std::max_element(&cells[r * side], &cells[r * side] + side);
    for (int64_t c = 0; c < side; ++c) {
      const float value = cells[r * side + c];
      if (value <= 0) continue;  // no such key: white
      const Rgb colour = Shade(1 + std::log10(value / most) / decades);
      uint8_t* pixel = &picture.rgb[3 * (r * side + c)];
      pixel[0] = colour.r, pixel[1] = colour.g, pixel[2] = colour.b;
    }
  }
  return picture;
}

}  // namespace nextscale
