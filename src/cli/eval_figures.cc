#include "cli/eval_figures.h"

#include <algorithm>
#include <cmath>

#include "cli/eval_table.h"
#include "cli/svg.h"

namespace nextscale {
namespace {

// A line of the plot: the budgets of one policy with one pruning.
struct Series {
  std::string name;
  std::vector<SvgPoint> values;  // KV of full's in %, PSNR
};

std::string SeriesName(const Variant& v) {
  std::string name = v.kv.policy;
  for (const std::string& part : {v.prune.preset, v.prune.ratios}) {
    if (!part.empty()) name += " " + part;
  }
  return name;
}

std::vector<Series> SeriesOf(std::span<const EvalResult> results) {
  std::vector<Series> all;
  for (const EvalResult& r : results.subspan(1)) {
    const std::string name = SeriesName(r.variant);
    auto at = std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == name; });
    if (at == all.end()) at = all.insert(at, {.name = name, .values = {}});
    at->values.push_back(
        {100 * KvShare(r, results.front()), QuartilesOf(ValuesOf(r, &PictureDistance::psnr)).median});
  }
  for (Series& s : all) {
    std::sort(s.values.begin(), s.values.end(), [](SvgPoint a, SvgPoint b) { return a.x < b.x; });
  }
  return all;
}

// Sets an axis' range to the finite values and a little more.
void Fit(SvgAxis& axis, const std::vector<double>& values) {
  double low = INFINITY, high = -INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (low > high) low = high = 0;
  const double margin = high > low ? 0.05 * (high - low) : std::max(0.05 * std::abs(high), 0.5);
  axis.low = low - margin;
  axis.high = high + margin;
}

std::string PsnrByKv(std::span<const EvalResult> results) {
  constexpr double kLeft = 70, kRight = 520, kTop = 20, kBottom = 340, kLegend = 230;
  const std::vector<Series> all = SeriesOf(results);
  std::vector<double> kv, psnr;
  std::vector<std::string> names;
  for (const Series& s : all) {
    names.push_back(s.name);
    for (const SvgPoint& p : s.values) {
      kv.push_back(p.x);
      psnr.push_back(p.y);
    }
  }
  constexpr double kLeastShare = 0.01;  // %; a cache that holds nothing has no logarithm
  SvgAxis x{.title = "KV cache held, % of the full one's", .from = kLeft, .to = kRight, .logarithmic = true};
  x.low = std::max(0.8 * *std::min_element(kv.begin(), kv.end()), kLeastShare);
  x.high = std::max(1.1 * *std::max_element(kv.begin(), kv.end()), 2 * x.low);
  SvgAxis y{.title = "PSNR from the full cache, dB (median)", .from = kBottom, .to = kTop};
  Fit(y, psnr);

  Svg svg(kRight + kLegend, kBottom + 50);
  DrawAxes(svg, x, y);
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<SvgPoint> points;
    for (const SvgPoint& p : all[i].values) points.push_back({x.At(p.x), y.At(p.y)});
    svg.Polyline(points, SvgColour(i), 2);
    for (const SvgPoint& p : points) svg.Circle(p, 3.5, SvgColour(i));
  }
  DrawLegend(svg, {kRight + 15, kTop + 10}, names);
  return svg.Finished();
}

std::string QuartileBars(std::span<const EvalResult> results, const std::string& title,
                         double PictureDistance::*measure) {
  constexpr double kLeft = 250, kRight = 700, kTop = 15, kRow = 20, kBar = 12;
  const std::span<const EvalResult> others = results.subspan(1);
  std::vector<Quartiles> all;
  std::vector<double> values;
  for (const EvalResult& r : others) {
    all.push_back(QuartilesOf(ValuesOf(r, measure)));
    values.insert(values.end(), {all.back().first, all.back().third});
  }
  SvgAxis x{.title = title, .from = kLeft, .to = kRight};
  Fit(x, values);
  const double bottom = kTop + kRow * static_cast<double>(all.size());
  Svg svg(kRight + 30, bottom + 50);
  DrawXAxis(svg, x, bottom, kTop);
  for (size_t i = 0; i < all.size(); ++i) {
    const double middle = kTop + kRow * (static_cast<double>(i) + 0.5);
    const double from = x.At(all[i].first), to = x.At(all[i].third), median = x.At(all[i].median);
    svg.Text({kLeft - 8, middle + 4}, others[i].variant.name, {.size = 11, .anchor = "end"});
    svg.Rect({from, middle - kBar / 2}, to - from, kBar, SvgColour(5));
    svg.Line({median, middle - kBar / 2}, {median, middle + kBar / 2}, SvgColour(6), 2);
  }
  return svg.Finished();
}

}  // namespace

std::vector<std::string> EvalFigureNames() { return {"psnr-by-kv.svg", "psnr.svg", "ssim.svg", "bits.svg"}; }

std::vector<EvalFigure> EvalFigures(std::span<const EvalResult> results) {
  if (results.size() < 2) return {};
  const std::vector<std::string> svgs = {
      PsnrByKv(results),
      QuartileBars(results, "PSNR from the full cache, dB: quartiles and median", &PictureDistance::psnr),
      QuartileBars(results, "SSIM with the full cache: quartiles and median", &PictureDistance::ssim),
      QuartileBars(results, "share of equal bits: quartiles and median", &PictureDistance::bits)};
  std::vector<EvalFigure> figures;
  for (const std::string& name : EvalFigureNames()) figures.push_back({name, svgs[figures.size()]});
  return figures;
}

}  // namespace nextscale
