// Small SVG pictures: elements with escaped text, and axes for plots. Lengths are pixels, y grows downwards.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nextscale {

struct SvgPoint {
  double x = 0, y = 0;
};

struct SvgText {
  double size = 12;
  std::string_view anchor = "start";  // middle, end: where along the text its point is
  double turn = 0;                    // degrees, clockwise
  std::string_view colour = "#333333";
};

// Colours that stay apart for colour-blind eyes (Okabe and Ito), the i-th modulo their number.
std::string_view SvgColour(size_t i);

// All numbers are finite (NS_CHECK). Colours are names or #rrggbb.
class Svg {
 public:
  Svg(double width, double height);  // white

  void Line(SvgPoint from, SvgPoint to, std::string_view colour, double width);
  void Polyline(std::span<const SvgPoint> points, std::string_view colour, double width);
  void Rect(SvgPoint corner, double width, double height, std::string_view fill);
  void Circle(SvgPoint centre, double radius, std::string_view fill);
  // A PNG file's bytes, stretched, its pixels sharp.
  void Picture(SvgPoint corner, double width, double height, std::string_view png);
  void Text(SvgPoint at, std::string_view text, const SvgText& style);

  // The document.
  std::string Finished() const;

 private:
  double width_, height_;
  std::string body_;
};

// A range of values along a stretch of pixels.
struct SvgAxis {
  std::string title;
  double low = 0, high = 1;  // low < high; above 0 for `logarithmic`
  double from = 0, to = 1;   // pixels of low and high
  bool logarithmic = false;

  // Pixels of a value; values beyond an end, infinity too, are at that end.
  double At(double value) const;
  // Round values within the range: steps of 1, 2 or 5 times a power of ten, at most about eight.
  std::vector<double> Ticks() const;
};

// Both axes with ticks, their labels, grid lines and titles; x runs along y.from (the lower edge).
void DrawAxes(Svg& svg, const SvgAxis& x, const SvgAxis& y);
// x alone along the lower edge `bottom`, its grid lines up to `top`: for plots with a row a name.
void DrawXAxis(Svg& svg, const SvgAxis& x, double bottom, double top);
void DrawYAxis(Svg& svg, const SvgAxis& y, double left, double right);

// A line of colour and a name each, from `at` downwards.
void DrawLegend(Svg& svg, SvgPoint at, std::span<const std::string> names);

}  // namespace nextscale
