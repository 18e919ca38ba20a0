#include "calibration/budget_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"

namespace nextscale {
namespace {

using nlohmann::json;

constexpr int64_t kMostScales = 64;
constexpr int64_t kMostTokens = int64_t{1} << 30;

// The number after `prefix`, if that is all.
std::optional<int64_t> NumberAfter(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// These throw json's exceptions, which name what is missing.

int64_t Whole(const json& row, const std::string& name, int64_t least, int64_t most) {
  const json& value = row.at(name);
  const int64_t number = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (number < least || number > most)
    throw std::invalid_argument(fmt::format("{} is {}, not {} to {}", name, value.dump(), least, most));
  return number;
}

BudgetFile::Row ParseRow(int64_t number, const json& row) {
  BudgetFile::Row out{.scale = number - 1};
  out.most = Whole(row, "Max", 1, kMostTokens);
  out.least = Whole(row, "Min", 1, kMostTokens);
  const auto blocks = std::count_if(row.items().begin(), row.items().end(), [](const auto& item) {
    return NumberAfter("Block ", item.key()).has_value();
  });
  for (int64_t l = 0; l < static_cast<int64_t>(blocks); ++l) {
    out.drafter.push_back(Whole(row, fmt::format("Block {}", l), 0, 1) == 1);
  }
  return out;
}

BudgetFile Parse(const json& file) {
  BudgetFile out;
  for (const auto& [name, row] : file.items()) {
    const std::optional<int64_t> number = NumberAfter("Scale ", name);
    if (!number || *number < 1 || *number > kMostScales)
      throw std::invalid_argument(fmt::format("'{}' is no scale", name));
    out.rows.push_back(ParseRow(*number, row));
  }
  std::sort(out.rows.begin(), out.rows.end(), [](const auto& a, const auto& b) { return a.scale < b.scale; });
  for (const BudgetFile::Row& row : out.rows) {
    if (row.drafter.size() != out.rows[0].drafter.size() || row.drafter.empty())
      throw std::invalid_argument("scales have different numbers of blocks");
  }
  if (out.rows.empty()) throw std::invalid_argument("it names no scale");
  return out;
}

}  // namespace

StatusOr<BudgetFile> ParseBudgetFile(std::string_view text, const std::string& name) {
  try {
    return Parse(json::parse(text));
  } catch (const std::exception& e) {  // json's, or of the checks above
    return FileError(name + " is not a budget file", e.what(),
                     R"(expected {"Scale n": {"Block i": 0 or 1, "Max": tokens, "Min": tokens}})");
  }
}

LayerTable BudgetTable(const BudgetFile& file, int64_t scales, int64_t layers) {
  LayerTable table(scales, std::vector<int64_t>(layers, std::numeric_limits<int64_t>::max()));
  for (const BudgetFile::Row& row : file.rows) {
    NS_CHECK_EQ(static_cast<int64_t>(row.drafter.size()), layers);
    if (row.scale >= scales) continue;
    for (int64_t l = 0; l < layers; ++l) table[row.scale][l] = row.drafter[l] ? row.most : row.least;
  }
  return table;
}

}  // namespace nextscale
