#include "cli/svg.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr std::string_view kInk = "#333333", kGrid = "#dddddd";
constexpr double kTick = 5, kLabel = 11, kTitle = 12;

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;  // XML has no control characters
    }
  }
  return out;
}

// A hundredth of a pixel is enough.
std::string Number(double value) {
  NS_CHECK(std::isfinite(value), "{} in a plot", value);
  return fmt::format("{:g}", std::round(value * 100) / 100 + 0.0);  // no -0
}

std::string TickLabel(double value) { return fmt::format("{:.6g}", value + 0.0); }  // no -0

std::vector<double> LinearTicks(double low, double high) {
  constexpr double kMost = 8;
  const double least_step = (high - low) / kMost;
  const double power = std::pow(10, std::floor(std::log10(least_step)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= least_step) step = factor * power;
  }
  std::vector<double> ticks;
  const double rounding = 1e-9 * step;  // an end that is a tick but for its last bits
  for (double i = std::ceil((low - rounding) / step); i * step <= high + rounding; ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::vector<double> LogarithmicTicks(double low, double high) {
  std::vector<double> ticks;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, power);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back(value);
    }
  }
  return ticks;
}

}  // namespace

std::string_view SvgColour(size_t i) {
  constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                        "#e69f00", "#56b4e9", "#000000", "#999933"};
  return kColours[i % kColours.size()];
}

Svg::Svg(double width, double height) : width_(width), height_(height) {
  Rect({0, 0}, width, height, "white");
}

void Svg::Line(SvgPoint from, SvgPoint to, std::string_view colour, double width) {
  body_ +=
      fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
                  Number(from.x), Number(from.y), Number(to.x), Number(to.y), Escaped(colour), Number(width));
}

void Svg::Polyline(std::span<const SvgPoint> points, std::string_view colour, double width) {
  std::string places;
  for (const SvgPoint& p : points)
    places += fmt::format("{}{},{}", places.empty() ? "" : " ", Number(p.x), Number(p.y));
  body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", places,
                       Escaped(colour), Number(width));
}

void Svg::Rect(SvgPoint corner, double width, double height, std::string_view fill) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", Number(corner.x),
                       Number(corner.y), Number(width), Number(height), Escaped(fill));
}

void Svg::Circle(SvgPoint centre, double radius, std::string_view fill) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", Number(centre.x),
                       Number(centre.y), Number(radius), Escaped(fill));
}

void Svg::Picture(SvgPoint corner, double width, double height, std::string_view png) {
  body_ += fmt::format(
      "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
      "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
      Number(corner.x), Number(corner.y), Number(width), Number(height),
      absl::Base64Escape(absl::string_view(png.data(), png.size())));
}

void Svg::Text(SvgPoint at, std::string_view text, const SvgText& style) {
  const std::string turn = style.turn == 0 ? ""
                                           : fmt::format(" transform=\"rotate({} {} {})\"",
                                                         Number(style.turn), Number(at.x), Number(at.y));
  body_ += fmt::format(
      "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n", Number(at.x),
      Number(at.y), Number(style.size), Escaped(style.anchor), Escaped(style.colour), turn, Escaped(text));
}

std::string Svg::Finished() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\">\n{2}</svg>\n",
      Number(width_), Number(height_), body_);
}

double SvgAxis::At(double value) const {
  NS_CHECK(low < high && (!logarithmic || low > 0), "axis {} from {} to {}", title, low, high);
  const double inside = std::clamp(value, low, high);
  const double share =
      logarithmic ? std::log(inside / low) / std::log(high / low) : (inside - low) / (high - low);
  return from + share * (to - from);
}

std::vector<double> SvgAxis::Ticks() const {
  return logarithmic ? LogarithmicTicks(low, high) : LinearTicks(low, high);
}

void DrawXAxis(Svg& svg, const SvgAxis& x, double bottom, double top) {
  for (const double tick : x.Ticks()) {
    const double at = x.At(tick);
    svg.Line({at, bottom + kTick}, {at, top}, kGrid, 1);
    svg.Text({at, bottom + kTick + kLabel}, TickLabel(tick), {.size = kLabel, .anchor = "middle"});
  }
  svg.Line({x.from, bottom}, {x.to, bottom}, kInk, 1);
  svg.Text({(x.from + x.to) / 2, bottom + 3 * kTitle}, x.title, {.size = kTitle, .anchor = "middle"});
}

void DrawYAxis(Svg& svg, const SvgAxis& y, double left, double right) {
  for (const double tick : y.Ticks()) {
    const double at = y.At(tick);
    svg.Line({left - kTick, at}, {right, at}, kGrid, 1);
    svg.Text({left - kTick - 2, at + kLabel / 3}, TickLabel(tick), {.size = kLabel, .anchor = "end"});
  }
  svg.Line({left, y.from}, {left, y.to}, kInk, 1);
  svg.Text({left - 4 * kTitle, (y.from + y.to) / 2}, y.title,
           {.size = kTitle, .anchor = "middle", .turn = -90});
}

void DrawAxes(Svg& svg, const SvgAxis& x, const SvgAxis& y) {
  DrawXAxis(svg, x, y.from, y.to);
  DrawYAxis(svg, y, x.from, x.to);
}

void DrawLegend(Svg& svg, SvgPoint at, std::span<const std::string> names) {
  constexpr double kSwatch = 18, kStep = 17;
  for (size_t i = 0; i < names.size(); ++i) {
    const double y = at.y + kStep * static_cast<double>(i);
    svg.Line({at.x, y}, {at.x + kSwatch, y}, SvgColour(i), 2.5);
    svg.Text({at.x + kSwatch + 6, y + kLabel / 3}, names[i], {.size = kLabel});
  }
}

}  // namespace nextscale
