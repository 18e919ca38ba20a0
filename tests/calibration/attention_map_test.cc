#include "calibration/attention_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nextscale {
namespace {

// Softmax attention of query `i` to all keys, D = 2, one head.
std::vector<double> Row(const std::vector<float>& q, const std::vector<float>& k, int64_t i, int64_t keys) {
  std::vector<double> row;
  double sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    row.push_back(std::exp(q[2 * i] * k[2 * j] + q[2 * i + 1] * k[2 * j + 1]));
    sum += row.back();
  }
  for (double& x : row) x /= sum;
  return row;
}

// Three maps of 1, 4 and 2000 tokens: the last has more tokens than cells.
TEST(AttentionMaps, CellsAreMeansOfTheSoftmaxOverTheirQueriesAndKeys) {
  const std::vector<MapSize> schedule = {{1, 1}, {2, 2}, {40, 50}};
  const OpContext ops;
  AttentionMaps maps(schedule, {{.layer = 3, .head = 0}}, ops);
  const int64_t T = 2005, side = AttentionMaps::kMostCells;
  ASSERT_EQ(maps.side(), side);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> q(2 * T), k(2 * T);
  for (float& x : q) x = normal(random);
  for (float& x : k) x = normal(random);
  Tensor queries(DType::kF32, {T, 2}, {});
  std::copy(q.begin(), q.end(), queries.data<float>());
  int64_t first = 0;
  for (size_t scale = 0; scale < schedule.size(); ++scale) {
    const int64_t L = schedule[scale].tokens();
    const std::vector<HeadKv> cached = {{k.data(), nullptr, first}}, current = {{&k[2 * first], nullptr, L}};
    maps.SeeSelfAttention(static_cast<int64_t>(scale), 3,
                          {.q = queries.view().Rows(first, L),
                           .B = 1,
                           .L = L,
                           .H = 1,
                           .D = 2,
                           .cached_BH = cached,
                           .current_BH = current});
    first += L;
  }
  std::vector<double> sums(side * side), counts(side * side);
  first = 0;
  for (MapSize map : schedule) {
    const int64_t keys = first + map.tokens();
    for (int64_t i = first; i < keys; ++i) {
      const std::vector<double> row = Row(q, k, i, keys);
      for (int64_t j = 0; j < keys; ++j) {
        sums[i * side / T * side + j * side / T] += row[j];
        counts[i * side / T * side + j * side / T] += 1;
      }
    }
    first = keys;
  }
  int64_t compared = 0;
  for (int64_t c = 0; c < side * side; ++c) {
    if (c / side < 3) continue;  // cells that queries of two maps share are painted by each in turn
    const double expected = counts[c] == 0 ? 0 : sums[c] / counts[c];
    ASSERT_NEAR(maps.cells(0)[c], expected, 1e-5 * (1 + expected)) << c;
    ++compared;
  }
  EXPECT_GT(compared, 500000);
}

}  // namespace
}  // namespace nextscale
