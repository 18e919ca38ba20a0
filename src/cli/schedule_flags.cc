// See schedule_flags.h.
#include "cli/schedule_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace nextscale {
namespace {

constexpr std::array<int, 4> kBudgetScales = {7, 10, 12, 13};
constexpr int64_t kMostPixels = 16384;  // along an edge
constexpr double kMostRatio = 4.0;

struct Pair {
  double first, second;
};
// "A<separator>B", both above 0.
std::optional<Pair> ParsePair(const std::string& text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string::npos) return std::nullopt;
  const std::string a = text.substr(0, at), b = text.substr(at + 1);
  char *a_end = nullptr, *b_end = nullptr;
  const Pair pair{std::strtod(a.c_str(), &a_end), std::strtod(b.c_str(), &b_end)};
  const bool whole = !a.empty() && !b.empty() && *a_end == '\0' && *b_end == '\0';
  if (!whole || !(pair.first > 0) || !(pair.second > 0) || !std::isfinite(pair.first) ||
      !std::isfinite(pair.second))
    return std::nullopt;
  return pair;
}

Status CheckRatio(double ratio, const std::string& flag) {
  if (ratio <= kMostRatio && ratio >= 1 / kMostRatio) return absl::OkStatus();
  return CallError(flag,
                   fmt::format("height to width {:.3g} is further from square than any schedule", ratio),
                   "choose from 1:3 to 3:1");
}

ChosenSchedule Make(double ratio, int scales, const ModelInfo& info) {
  ChosenSchedule out{.schedule = MakeSchedule(ratio, scales)};
  out.width = out.schedule.last().w * info.pixels_per_token();
  out.height = out.schedule.last().h * info.pixels_per_token();
  return out;
}

// The pixel budget whose picture has the nearest area.
StatusOr<ChosenSchedule> FromSize(const std::string& size, const ModelInfo& info) {
  const std::optional<Pair> wh = ParsePair(size, 'x');
  if (!wh || std::floor(wh->first) != wh->first || std::floor(wh->second) != wh->second ||
      wh->first > kMostPixels || wh->second > kMostPixels) {
    return CallError(fmt::format("--size {}", size),
                     fmt::format("expected WIDTHxHEIGHT in pixels, each 1 to {}", kMostPixels),
                     "e.g. --size 1024x1024");
  }
  const double ratio = wh->second / wh->first, area = wh->first * wh->second;
  NS_RETURN_IF_ERROR(CheckRatio(ratio, "--size " + size));
  std::optional<ChosenSchedule> best;
  double least = 0;
  for (int scales : kBudgetScales) {
    if (scales > info.transformer->levels) continue;
    ChosenSchedule candidate = Make(ratio, scales, info);
    const double distance =
        std::abs(std::log(static_cast<double>(candidate.width * candidate.height) / area));
    if (!best || distance < least) {
      least = distance;
      best = std::move(candidate);
    }
  }
  if (!best)
    return CallError("--size " + size, fmt::format("the model has level embeddings for {} scales only",
                                                   info.transformer->levels));
  if (best->width != wh->first || best->height != wh->second)
    best->notice =
        fmt::format("--size {} snapped to {}x{}, which the model knows", size, best->width, best->height);
  return *best;
}

// The schedule of training, or the largest budget that the model has levels for.
int DefaultScales(const ModelInfo& info) {
  if (info.trained_scales > 0) return info.trained_scales;
  const auto fits = [&](int scales) { return scales <= info.transformer->levels; };
  const auto most = std::find_if(kBudgetScales.rbegin(), kBudgetScales.rend(), fits);
  return most == kBudgetScales.rend() ? static_cast<int>(info.transformer->levels) : *most;
}

StatusOr<ChosenSchedule> FromAspect(const SizeFlags& flags, const ModelInfo& info) {
  int scales = DefaultScales(info);
  if (!flags.pixels.empty()) {
    NS_ASSIGN_OR_RETURN(scales, ScalesOfPixels(flags.pixels));
  }
  if (flags.aspect.empty()) return Make(1.0, scales, info);
  const std::optional<Pair> wh = ParsePair(flags.aspect, ':');
  if (!wh) {
    return CallError(fmt::format("--aspect {}", flags.aspect), "expected WIDTH:HEIGHT", "e.g. --aspect 4:3");
  }
  const double ratio = wh->second / wh->first;
  NS_RETURN_IF_ERROR(CheckRatio(ratio, "--aspect " + flags.aspect));
  ChosenSchedule chosen = Make(ratio, scales, info);
  constexpr double kCutOfKeys = 0.001;  // the keys are ratios cut to three decimals
  if (std::abs(ratio - chosen.schedule.ratio) > kCutOfKeys) {
    chosen.notice = fmt::format("--aspect {} snapped to {}x{} pixels, which the model knows", flags.aspect,
                                chosen.width, chosen.height);
  }
  return chosen;
}

}  // namespace

StatusOr<ChosenSchedule> ChooseSchedule(const SizeFlags& flags, const ModelInfo& info) {
  if (!flags.size.empty() && (!flags.aspect.empty() || !flags.pixels.empty()))
    return CallError("--size together with --aspect or --pixels", "the size says both", "leave one out");
  StatusOr<ChosenSchedule> chosen = flags.size.empty() ? FromAspect(flags, info) : FromSize(flags.size, info);
  if (!chosen.ok() || info.trained_scales == 0 || chosen->schedule.scales() == info.trained_scales)
    return chosen;
  chosen->notice += fmt::format("{}the model was trained at {}, not at {}: pictures may be poor",
                                chosen->notice.empty() ? "" : "; ", PixelsOfScales(info.trained_scales),
                                PixelsOfScales(chosen->schedule.scales()));
  return chosen;
}

}  // namespace nextscale
