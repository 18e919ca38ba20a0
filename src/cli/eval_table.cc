#include "cli/eval_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace nextscale {
namespace {

using json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

// `share` of the way through ascending values.
double Percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const double rest = place - static_cast<double>(below), low = sorted[below];
  if (rest == 0) return low;
  const double high = sorted[below + 1];
  return low == high ? low : low + rest * (high - low);  // two infinities have no difference
}

Row RowOf(const EvalResult& r, const EvalResult& full) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const Quartiles psnr = QuartilesOf(ValuesOf(r, &PictureDistance::psnr));
  const Quartiles ssim = QuartilesOf(ValuesOf(r, &PictureDistance::ssim));
  const Quartiles bits = QuartilesOf(ValuesOf(r, &PictureDistance::bits));
  return {r.variant.name,
          fmt::format("{:.2f}", psnr.median),
          fmt::format("{:.2f} to {:.2f}", psnr.first, psnr.third),
          fmt::format("{:.4f}", ssim.median),
          fmt::format("{:.1f}", 100 * bits.median),
          fmt::format("{:.3f}", r.seconds / full.seconds),
          fmt::format("{:.3f}", static_cast<double>(r.kv_bytes) / kMiB),
          fmt::format("{:.1f}", 100 * KvShare(r, full))};
}

std::string Line(const Row& row, const std::vector<size_t>& widths) {
  std::string line = fmt::format("| {:<{}} |", row[0], widths[0]);
  for (size_t c = 1; c < row.size(); ++c) line += fmt::format(" {:>{}} |", row[c], widths[c]);
  return line + "\n";
}

std::string Rule(const std::vector<size_t>& widths) {
  std::string line = "|" + std::string(widths[0] + 2, '-') + "|";
  for (size_t c = 1; c < widths.size(); ++c) line += std::string(widths[c] + 1, '-') + ":|";
  return line + "\n";
}

json MeasureJson(const EvalResult& r, double PictureDistance::*measure) {
  const auto number = [](double value) { return std::isfinite(value) ? json(value) : json(nullptr); };
  const std::vector<double> values = ValuesOf(r, measure);
  const Quartiles q = QuartilesOf(values);
  json out = {{"first_quartile", number(q.first)},
              {"median", number(q.median)},
              {"third_quartile", number(q.third)},
              {"values", json::array()}};
  for (const double value : values) out["values"].push_back(number(value));
  return out;
}

}  // namespace

Quartiles QuartilesOf(std::vector<double> values) {
  NS_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return {Percentile(values, 0.25), Percentile(values, 0.5), Percentile(values, 0.75)};
}

std::vector<double> ValuesOf(const EvalResult& result, double PictureDistance::*measure) {
  std::vector<double> values;
  for (const PictureDistance& d : result.distances) values.push_back(d.*measure);
  return values;
}

double KvShare(const EvalResult& result, const EvalResult& full) {
  return static_cast<double>(result.kv_bytes) / static_cast<double>(std::max<int64_t>(full.kv_bytes, 1));
}

std::string EvalText(std::span<const EvalResult> results) {
  std::vector<Row> rows = {{"setting", "PSNR dB", "quartiles", "SSIM", "bits %", "time", "KV MiB", "KV %"}};
  for (const EvalResult& r : results) rows.push_back(RowOf(r, results.front()));
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text = Line(rows[0], widths) + Rule(widths);
  for (size_t i = 1; i < rows.size(); ++i) text += Line(rows[i], widths);
  return text;
}

json EvalJson(std::span<const EvalResult> results) {
  json out = json::array();
  const EvalResult& full = results.front();
  for (const EvalResult& r : results) {
    const KvFlags& kv = r.variant.kv;
    const PruneFlags& prune = r.variant.prune;
    out.push_back({{"name", r.variant.name},
                   {"kv", kv.policy},
                   {"kv_budget", kv.budget},
                   {"prune", prune.preset},
                   {"prune_ratios", prune.ratios},
                   {"psnr", MeasureJson(r, &PictureDistance::psnr)},
                   {"ssim", MeasureJson(r, &PictureDistance::ssim)},
                   {"bits_agreeing", MeasureJson(r, &PictureDistance::bits)},
                   {"transformer_seconds", r.seconds},
                   {"transformer_of_full", r.seconds / full.seconds},
                   {"kv_bytes", r.kv_bytes},
                   {"kv_of_full", KvShare(r, full)}});
  }
  return out;
}

}  // namespace nextscale
