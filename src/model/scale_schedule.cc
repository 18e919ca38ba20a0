#include "model/scale_schedule.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr int kScales = 13;
using Maps = std::array<MapSize, kScales>;

struct Entry {
  double ratio;    // >= 1
  double inverse;  // 1 / ratio cut to three decimals; 0 for the square
  Maps maps;
};

constexpr std::array<Entry, 8> kTable = {{
    {1.000,
     0.0,
     {{{1, 1},
       {2, 2},
       {4, 4},
       {6, 6},
       {8, 8},
       {12, 12},
       {16, 16},
       {20, 20},
       {24, 24},
       {32, 32},
       {40, 40},
       {48, 48},
       {64, 64}}}},
    {1.250,
     0.8,
     {{{1, 1},
       {2, 2},
       {3, 3},
       {5, 4},
       {10, 8},
       {15, 12},
       {20, 16},
       {25, 20},
       {30, 24},
       {35, 28},
       {45, 36},
       {55, 44},
       {70, 56}}}},
    {1.333,
     0.75,
     {{{1, 1},
       {2, 2},
       {4, 3},
       {8, 6},
       {12, 9},
       {16, 12},
       {20, 15},
       {24, 18},
       {28, 21},
       {36, 27},
       {48, 36},
       {60, 45},
       {72, 54}}}},
    {1.500,
     0.666,
     {{{1, 1},
       {2, 2},
       {3, 2},
       {6, 4},
       {9, 6},
       {15, 10},
       {21, 14},
       {27, 18},
       {33, 22},
       {39, 26},
       {48, 32},
       {63, 42},
       {78, 52}}}},
    {1.750,
     0.571,
     {{{1, 1},
       {2, 2},
       {3, 3},
       {7, 4},
       {11, 6},
       {14, 8},
       {21, 12},
       {28, 16},
       {35, 20},
       {42, 24},
       {56, 32},
       {70, 40},
       {84, 48}}}},
    {2.000,
     0.5,
     {{{1, 1},
       {2, 2},
       {4, 2},
       {6, 3},
       {10, 5},
       {16, 8},
       {22, 11},
       {30, 15},
       {38, 19},
       {46, 23},
       {60, 30},
       {74, 37},
       {90, 45}}}},
    {2.500,
     0.4,
     {{{1, 1},
       {2, 2},
       {5, 2},
       {10, 4},
       {15, 6},
       {20, 8},
       {25, 10},
       {30, 12},
       {40, 16},
       {50, 20},
       {65, 26},
       {80, 32},
       {100, 40}}}},
    {3.000,
     0.333,
     {{{1, 1},
       {2, 2},
       {6, 2},
       {9, 3},
       {15, 5},
       {21, 7},
       {27, 9},
       {36, 12},
       {45, 15},
       {54, 18},
       {72, 24},
       {90, 30},
       {111, 37}}}},
}};

constexpr std::array<double, 15> kRatios = {1.0,   1.25, 0.8, 1.333, 0.75, 1.5, 0.666, 1.75,
                                            0.571, 2.0,  0.5, 2.5,   0.4,  3.0, 0.333};

struct Budget {
  std::string_view name;
  int scales;
};
constexpr std::array<Budget, 4> kBudgets = {{{"0.06M", 7}, {"0.25M", 10}, {"0.60M", 12}, {"1M", kScales}}};

double NearestRatio(double ratio) {
  double best = kRatios[0];
  for (double key : kRatios) {
    if (std::abs(ratio - key) < std::abs(ratio - best)) best = key;
  }
  return best;
}

}  // namespace

int64_t ScaleSchedule::tokens() const {
  int64_t n = 0;
  for (MapSize m : maps) n += m.tokens();
  return n;
}

int64_t ScaleSchedule::tokens_before_last() const {
  return maps.empty() ? 0 : tokens() - maps.back().tokens();
}

std::span<const double> ScheduleRatios() { return kRatios; }

ScaleSchedule FullSchedule(double ratio) {
  ScaleSchedule schedule;
  schedule.ratio = NearestRatio(ratio);
  for (const Entry& entry : kTable) {
    if (entry.ratio == schedule.ratio) schedule.maps.assign(entry.maps.begin(), entry.maps.end());
    if (entry.inverse == schedule.ratio) {
      for (MapSize m : entry.maps) schedule.maps.push_back({m.w, m.h});
    }
  }
  NS_CHECK_EQ(schedule.scales(), kScales);
  schedule.rope_grid = schedule.maps.back();
  return schedule;
}

ScaleSchedule MakeSchedule(double ratio, int scales) {
  NS_CHECK(scales >= 1 && scales <= kScales, "{} scales", scales);
  ScaleSchedule schedule = FullSchedule(ratio);
  schedule.maps.resize(scales);
  return schedule;
}

StatusOr<int> ScalesOfPixels(std::string_view pixels) {
  std::string names;
  for (const Budget& budget : kBudgets) {
    if (budget.name == pixels) return budget.scales;
    names += (names.empty() ? "" : ", ") + std::string(budget.name);
  }
  return CallError(fmt::format("unknown pixel budget '{}'", pixels), "", "one of " + names);
}

std::string PixelsOfScales(int scales) {
  for (const Budget& budget : kBudgets) {
    if (budget.scales == scales) return std::string(budget.name);
  }
  return fmt::format("{} scales", scales);
}

}  // namespace nextscale
