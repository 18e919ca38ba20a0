// What a bench found, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/bench_ops.h"
#include "cli/bench_run.h"

namespace nextscale {

// The machine, as measured in the same run.
struct BenchMachine {
  std::string processor;
  int threads = 1;
  double f32_peak = 0, bf16_peak = 0;  // FLOP/s of a matrix product

  // bf16 falls back to f32 arithmetic where that is faster.
  double PeakOf(DType type) const;
};

struct BenchReport {
  std::string model;
  BenchMachine machine;
  BenchSettings settings;
  BenchWork work;
  MemoryPlan plan;
  bool ran = false;  // false: the plan alone
  BenchResult result;
};

nlohmann::ordered_json MachineJson(const BenchMachine& machine);
std::string MachineText(const BenchMachine& machine);

nlohmann::ordered_json BenchJson(const BenchReport& report);
std::string BenchText(const BenchReport& report);

// Single ops.
nlohmann::ordered_json OpsJson(const BenchMachine& machine, const BenchSettings& settings,
                               const std::vector<OpTime>& rows);
std::string OpsText(const BenchMachine& machine, const BenchSettings& settings,
                    const std::vector<OpTime>& rows);

}  // namespace nextscale
