#include "cli/prune_flags.h"

#include <fmt/format.h>

#include "cli/flag_list.h"
#include "prune/fastvar.h"

namespace nextscale {
namespace {

bool ParseRatio(std::string_view item, PruneOptions::Ratio& ratio) {
  const size_t equals = item.find('=');
  return equals != std::string_view::npos && ParseWhole(item.substr(0, equals), ratio.scale) &&
         ParseWhole(item.substr(equals + 1), ratio.left_out);
}

bool ParseRange(std::string_view text, std::pair<int64_t, int64_t>& range) {
  const size_t dash = text.find('-', 1);
  return dash != std::string_view::npos && ParseWhole(text.substr(0, dash), range.first) &&
         ParseWhole(text.substr(dash + 1), range.second);
}

}  // namespace

void AddPruneFlags(CLI::App& app, PruneFlags& f) {
  app.add_option("--prune", f.preset,
                 "token pruning at the last scales: fastvar (as published), fastvar-mild, fastvar-fast "
                 "(default: none)")
      ->type_name("PRESET");
  app.add_option("--prune-ratios", f.ratios,
                 "share of the tokens left out by scale, e.g. 9=0.4,10=0.5,11=1,12=1; 1 skips the scale")
      ->type_name("LIST");
  app.add_option("--prune-source", f.source,
                 "scale whose outputs stand for what is left out (default: the one before the first pruned)")
      ->type_name("K");
  app.add_option("--prune-layers", f.layers,
                 "first and last pruned layer, A-B (default: as published, in proportion: 3-27 of 32)")
      ->type_name("A-B");
}

StatusOr<PruneOptions> ParsePruneFlags(const PruneFlags& f, int64_t scales) {
  PruneOptions options;
  if (!f.preset.empty()) {
    NS_ASSIGN_OR_RETURN(options, FastVarPreset(f.preset, scales));
  }
  if (f.preset.empty() && f.ratios.empty() && !(f.source.empty() && f.layers.empty()))
    return CallError("--prune-source or --prune-layers without ratios", "nothing is pruned",
                     "give --prune or --prune-ratios too");
  if (!f.ratios.empty()) options.ratios.clear();
  for (const std::string_view item : SplitList(f.ratios)) {
    PruneOptions::Ratio ratio;
    if (!ParseRatio(item, ratio))
      return CallError("--prune-ratios " + f.ratios, fmt::format("'{}' is not SCALE=SHARE", item),
                       "e.g. --prune-ratios 9=0.4,10=0.5,11=1,12=1");
    options.ratios.push_back(ratio);
  }
  if (!f.source.empty()) {
    int64_t source = 0;
    if (!ParseWhole(std::string_view(f.source), source))
      return CallError("--prune-source " + f.source, "expected the number of a scale, from 0");
    options.source = source;
  }
  if (!f.layers.empty()) {
    std::pair<int64_t, int64_t> layers;
    if (!ParseRange(f.layers, layers))
      return CallError("--prune-layers " + f.layers, "expected the first and the last layer, from 0",
                       "e.g. --prune-layers 3-27");
    options.layers = layers;
  }
  return options;
}

}  // namespace nextscale
