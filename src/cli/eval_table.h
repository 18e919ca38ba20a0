// The distances of `eval` summed up: a table for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/eval_run.h"

namespace nextscale {

struct Quartiles {
  double first = 0, median = 0, third = 0;
};
// As numpy.percentile: linear between the two nearest values. At least one value (NS_CHECK); infinity is a
// value like others, the largest.
Quartiles QuartilesOf(std::vector<double> values);

// Of one measure over the pictures of a result.
std::vector<double> ValuesOf(const EvalResult& result, double PictureDistance::*measure);

// The cache's bytes as a share of the full cache's.
double KvShare(const EvalResult& result, const EvalResult& full);

// A Markdown table, its columns aligned: a row a setting; the first one is the full cache. Each has at least
// one picture.
std::string EvalText(std::span<const EvalResult> results);

// An array, an object a setting: its flags, quartiles, and the values of all pictures. Infinity is null.
nlohmann::ordered_json EvalJson(std::span<const EvalResult> results);

}  // namespace nextscale
