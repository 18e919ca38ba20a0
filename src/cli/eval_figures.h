// Plots of `eval` as SVG documents.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/eval_run.h"

namespace nextscale {

// What EvalFigures makes, as files' names.
std::vector<std::string> EvalFigureNames();

struct EvalFigure {
  std::string name;
  std::string svg;
};

// PSNR (median) against the KV cache held, a line for each policy with each pruning; and for PSNR, SSIM and
// agreeing bits a row a setting with its quartiles. The first result, the full cache, is not drawn: without
// another one there are no figures. Infinite values lie at the axis' end.
std::vector<EvalFigure> EvalFigures(std::span<const EvalResult> results);

}  // namespace nextscale
