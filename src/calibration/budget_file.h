// The budget files that come with the public ScaleKV code: {"Scale n": {"Block i": 0|1, "Max": .., "Min":
// ..}}.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "kv/budget.h"

namespace nextscale {

struct BudgetFile {
  struct Row {
    int64_t scale = 0;            // 0-based: what this scale finds in the cache
    std::vector<bool> drafter;    // [layers]
    int64_t most = 0, least = 0;  // of drafters, of the others
  };
  std::vector<Row> rows;  // ascending; scales left out have no limit
};

// `name`: for messages. Errors: FileError naming what is missing or of another form; blocks are to be
// numbered from 0 without gaps, the same in all scales.
StatusOr<BudgetFile> ParseBudgetFile(std::string_view text, const std::string& name);

// [K][L] as KvOptions::file_budgets. `layers` is the file's own number (NS_CHECK).
LayerTable BudgetTable(const BudgetFile& file, int64_t scales, int64_t layers);

}  // namespace nextscale
