// Tables and matrices as colours, for figures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/svg.h"
#include "metrics/image_io.h"

namespace nextscale {

// 0 dark blue, to 1 yellow; even steps look even, in grey too.
struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
};
Rgb Shade(double unit);

struct HeatTable {
  std::string title, row_title, column_title;
  std::vector<std::string> rows;              // labels
  std::vector<std::vector<double>> values;    // [rows][columns], finite
  std::vector<std::vector<bool>> marked;      // of the same shape, or empty: a ring around the cell
  std::function<std::string(double)> number;  // what a cell says, if it is wide enough; empty: nothing
};
// Each row has a range of colours of its own if `by_row`, else all share one. -> the lower edge.
double DrawHeatTable(Svg& svg, SvgPoint corner, double width, const HeatTable& table, bool by_row);

// [side, side] cells, as a picture: the largest of each row is brightest, `decades` powers of ten below it
// and less are dark.
Image MatrixPicture(const std::vector<float>& cells, int64_t side, double decades);

}  // namespace nextscale
