#include "cli/calibrate_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibration/apply_plan.h"
#include "cli/heat_map.h"
#include "kv/factory.h"
#include "metrics/codecs.h"

namespace nextscale {
namespace {

constexpr double kTableWidth = 760, kMargin = 20;
constexpr double kFigureBudget = 10;  // %, the paper's

std::vector<std::string> ScaleLabels(const Plan& plan) {
  std::vector<std::string> labels;
  for (int64_t k = 0; k < plan.scales(); ++k)
    labels.push_back(fmt::format("{}: {}x{}", k, plan.schedule[k].h, plan.schedule[k].w));
  return labels;
}

HeatTable TableOf(const Plan& plan, std::string title, ScaleTable values, const char* form) {
  return {.title = std::move(title),
          .row_title = "scale",
          .column_title = "layer",
          .rows = ScaleLabels(plan),
          .values = std::move(values),
          .marked = plan.drafters,
          .number = [form](double x) { return fmt::format(fmt::runtime(form), x); }};
}

double TableHeight(const Plan& plan) { return 22 * static_cast<double>(plan.scales()) + 70; }

std::string Roles(const Plan& plan) {
  Svg svg(kTableWidth + 2 * kMargin, 2 * TableHeight(plan) + 2 * kMargin);
  const double edge = DrawHeatTable(
      svg, {kMargin, kMargin}, kTableWidth,
      TableOf(plan, "Attention Selectivity Index (colours by scale); ringed: drafters", plan.asi, "{:.2f}"),
      true);
  DrawHeatTable(svg, {kMargin, edge + kMargin}, kTableWidth,
                TableOf(plan, fmt::format("Z of {} within each scale; ringed: drafters", Name(plan.metric)),
                        plan.z, "{:.1f}"),
                false);
  return svg.Finished();
}

StatusOr<std::string> Budgets(const Plan& plan) {
  KvOptions kv{.policy = KvPolicyKind::kScaleKv, .budget_percent = kFigureBudget};
  NS_RETURN_IF_ERROR(ApplyPlan({.name = "the plan", .content = plan}, plan.scales(), kv));
  LayerTable added;
  for (MapSize map : plan.schedule) added.push_back(std::vector<int64_t>(plan.depth, map.tokens()));
  NS_ASSIGN_OR_RETURN(const KvSetup setup, MakeKvSetup(kv, plan.schedule, added));
  ScaleTable tokens;
  for (const std::vector<int64_t>& row : setup.budgets) tokens.emplace_back(row.begin(), row.end());
  Svg svg(kTableWidth + 2 * kMargin, TableHeight(plan) + 2 * kMargin);
  DrawHeatTable(svg, {kMargin, kMargin}, kTableWidth,
                TableOf(plan,
                        fmt::format("Tokens that a layer may hold, per head and stream, when a scale begins; "
                                    "budget {:g}%; ringed: drafters",
                                    kFigureBudget),
                        std::move(tokens), "{:.0f}"),
                false);
  return svg.Finished();
}

// Of every prompt and layer at these scales: attention per token of the current map over attention per token
// of all keys, current * S / n.
std::vector<double> Normalised(const Plan& plan, std::span<const MeasuredPrompt> measured, int64_t from,
                               int64_t to) {
  std::vector<double> values;
  int64_t keys = 0;
  for (int64_t k = 0; k < to; ++k) {
    const int64_t n = plan.schedule[k].tokens();
    keys += n;
    if (k < from) continue;
    for (const MeasuredPrompt& p : measured) {
      for (double current : p.tables.current[k])
        values.push_back(current * static_cast<double>(keys) / static_cast<double>(n));
    }
  }
  return values;
}

// A Gaussian kernel density estimate, its bandwidth by Silverman's rule.
double DensityAt(std::span<const double> values, double x) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double variance = 0;
  for (double v : values) variance += (v - mean) * (v - mean) / n;
  const double width = std::max(1.06 * std::sqrt(variance) * std::pow(n, -0.2), 1e-3);
  double sum = 0;
  for (double v : values) sum += std::exp(-0.5 * (x - v) * (x - v) / (width * width));
  return sum / (n * width * std::sqrt(2 * M_PI));
}

std::string Density(const Plan& plan, std::span<const MeasuredPrompt> measured) {
  constexpr double kLeft = 70, kRight = 560, kTop = 20, kBottom = 320, kPoints = 200;
  // A quarter of the scales after the first, and one before the last: 1-3 and 9-11 of 13, as in the paper.
  const int64_t K = plan.scales(),
                quarter = std::max<int64_t>(1, std::lround(static_cast<double>(K - 1) / 4));
  const int64_t large = std::max<int64_t>(1, K - 1 - quarter);
  const std::vector<std::string> names = {
      fmt::format("small scales, {} to {}", 1, quarter),
      fmt::format("large scales, {} to {}", large, std::max(large, K - 2))};
  const std::vector<double> groups[] = {Normalised(plan, measured, 1, quarter + 1),
                                        Normalised(plan, measured, large, std::max(large, K - 2) + 1)};
  double most = 1, highest = 0;
  for (const std::vector<double>& g : groups) most = std::max(most, *std::max_element(g.begin(), g.end()));
  SvgAxis x{.title = "attention a token of the current map gets, of the mean over all tokens",
            .low = 0,
            .high = 1.1 * most,
            .from = kLeft,
            .to = kRight};
  std::vector<std::vector<double>> curves(2);
  for (size_t g = 0; g < 2; ++g) {
    for (double i = 0; i <= kPoints; ++i) {
      curves[g].push_back(DensityAt(groups[g], x.high * i / kPoints));
      highest = std::max(highest, curves[g].back());
    }
  }
  SvgAxis y{.title = "density over layers and prompts",
            .low = 0,
            .high = 1.05 * highest,
            .from = kBottom,
            .to = kTop};
  Svg svg(kRight + 190, kBottom + 50);
  DrawAxes(svg, x, y);
  for (size_t g = 0; g < 2; ++g) {
    std::vector<SvgPoint> points;
    for (size_t i = 0; i < curves[g].size(); ++i)
      points.push_back({x.At(x.high * static_cast<double>(i) / kPoints), y.At(curves[g][i])});
    svg.Polyline(points, SvgColour(g), 2);
  }
  DrawLegend(svg, {kRight + 15, kTop + 10}, names);
  return svg.Finished();
}

// "drafter at scales 1, 2" or "refiner at all scales".
std::string RoleText(const Plan& plan, int64_t layer) {
  std::vector<int64_t> scales;
  for (int64_t k = 0; k < plan.scales(); ++k) {
    if (plan.drafters[k][layer]) scales.push_back(k);
  }
  return scales.empty() ? "refiner at all scales"
                        : fmt::format("drafter at scales {}", fmt::join(scales, ", "));
}

// Lines where a scale begins, and the larger scales' numbers.
void DrawBoundaries(Svg& svg, const Plan& plan, SvgPoint corner, double size) {
  double tokens = 0, before = 0;
  for (MapSize map : plan.schedule) tokens += static_cast<double>(map.tokens());
  for (int64_t k = 0; k < plan.scales(); ++k) {
    const double at = size * before / tokens,
                 middle = size * static_cast<double>(plan.schedule[k].tokens()) / tokens;
    if (k > 0) {
      svg.Line({corner.x + at, corner.y}, {corner.x + at, corner.y + size}, "#888888", 0.5);
      svg.Line({corner.x, corner.y + at}, {corner.x + size, corner.y + at}, "#888888", 0.5);
    }
    if (middle >= 10) {
      svg.Text({corner.x + at + middle / 2, corner.y + size + 12}, std::to_string(k),
               {.size = 10, .anchor = "middle"});
      svg.Text({corner.x - 4, corner.y + at + middle / 2 + 4}, std::to_string(k),
               {.size = 10, .anchor = "end"});
    }
    before += static_cast<double>(plan.schedule[k].tokens());
  }
}

StatusOr<CalibrationFigure> LayerFigure(const Plan& plan, const AttentionMaps& maps,
                                        std::span<const size_t> which) {
  constexpr double kSize = 360, kGap = 40, kTop = 64, kDecades = 4;
  const int64_t layer = maps.heads()[which[0]].layer;
  const CalibrationFigure figure{.name = fmt::format("attention-layer{:02d}.svg", layer)};
  Svg svg(kGap + (kSize + kGap) * static_cast<double>(which.size()), kTop + kSize + 40);
  svg.Text({kGap, 20},
           fmt::format("Layer {}, {}: attention of each query (down) to each key (across), by scale", layer,
                       RoleText(plan, layer)),
           {.size = 14});
  svg.Text(
      {kGap, 38},
      fmt::format("yellow: the most that the query pays to a key; dark: {:g} powers of ten less. Prompt: {}",
                  kDecades, plan.prompts[0]),
      {.size = 11});
  for (size_t i = 0; i < which.size(); ++i) {
    const SvgPoint corner{kGap + (kSize + kGap) * static_cast<double>(i), kTop};
    NS_ASSIGN_OR_RETURN(
        const std::string png,
        EncodePng(MatrixPicture(maps.cells(which[i]), maps.side(), kDecades), {}, figure.name));
    svg.Text({corner.x, kTop - 6}, fmt::format("head {}", maps.heads()[which[i]].head), {.size = 12});
    svg.Picture(corner, kSize, kSize, png);
    DrawBoundaries(svg, plan, corner, kSize);
  }
  return CalibrationFigure{.name = figure.name, .svg = svg.Finished()};
}

}  // namespace

StatusOr<std::vector<CalibrationFigure>> PlanFigures(const Plan& plan,
                                                     std::span<const MeasuredPrompt> measured) {
  NS_ASSIGN_OR_RETURN(std::string budgets, Budgets(plan));
  return std::vector<CalibrationFigure>{{"roles.svg", Roles(plan)},
                                        {"density.svg", Density(plan, measured)},
                                        {"budgets.svg", std::move(budgets)}};
}

std::vector<int64_t> TypicalLayers(const Plan& plan) {
  std::vector<double> sum(plan.depth, 0.0);
  for (const std::vector<double>& row : plan.z) {
    for (int64_t l = 0; l < plan.depth; ++l) sum[l] += row[l];
  }
  const auto [least, most] = std::minmax_element(sum.begin(), sum.end());
  if (plan.depth == 1) return {0};
  return {least - sum.begin(), most - sum.begin()};
}

StatusOr<std::vector<CalibrationFigure>> AttentionFigures(const Plan& plan, const AttentionMaps& maps) {
  std::vector<CalibrationFigure> figures;
  for (int64_t layer = 0; layer < plan.depth; ++layer) {
    std::vector<size_t> which;
    for (size_t i = 0; i < maps.heads().size(); ++i) {
      if (maps.heads()[i].layer == layer) which.push_back(i);
    }
    if (which.empty()) continue;
    NS_ASSIGN_OR_RETURN(CalibrationFigure figure, LayerFigure(plan, maps, which));
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace nextscale
