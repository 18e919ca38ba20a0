// Compares what the engine computes with a case's expected tensors, tensor by tensor, and tells it stage by
// stage.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_source.h"
#include "cli/parity_case.h"
#include "model/observer.h"

namespace nextscale {

// How a stage is judged.
enum class ParityRule {
  kEqual,     // integers: all equal
  kRelative,  // largest difference of the expected tensor's largest value
  kImage,     // likewise, with the picture's tolerance
  kBytes,     // bytes within tolerance.pixels
  kRange,     // largest difference of the expected tensor's range (max - min), for bf16 logits
  kRounded,   // likewise, for other values in bf16
  kShare,     // share of equal values over the whole stage, for bits drawn from bf16 logits
  kReport,    // told, not judged
};

class ParityCheck : public TensorObserver {
 public:
  // bf16: judge by what bfloat16 arithmetic can keep, see parity_check.cc.
  ParityCheck(std::shared_ptr<const TensorSource> expected, const ParityCase& request, bool bf16);

  // Compares the whole tensor; names that the case did not store are passed over.
  void See(std::string_view name, ConstView got) override { SeePart(name, got, 0, 1); }
  // Compares part `index` of `parts` equal ones along the expected tensor's outermost dimension, e.g. one
  // image of a batch.
  void SeePart(std::string_view name, ConstView got, int64_t index, int64_t parts);

  // An expected tensor as stored. Errors: FileError if it is missing.
  StatusOr<Tensor> Expected(std::string_view name) const;

  // After the run: also fails each expected tensor that was never seen in full. -> whether all is within
  // tolerance.
  bool Finish();
  // One line a stage; with `each_tensor` one a tensor too.
  std::string Report(bool each_tensor) const;

 private:
  struct Result {
    ParityRule rule;
    int64_t elements = 0, seen = 0, wrong = 0;
    double difference = 0, largest = 0, range = 0;  // absolute; of the expected tensor
    std::string first_wrong, error;
    bool ok = true;
  };
  using Results = std::map<std::string, Result, std::less<>>;
  using Entry = Results::value_type;

  ParityRule RuleOf(std::string_view stage) const;
  double Tolerance(ParityRule rule) const;
  static double Measure(const Result& result);
  void Compare(const Tensor& expected, ConstView got, int64_t begin, std::string_view name,
               Result& result) const;
  // The worst of these tensors, which are judged by one rule.
  std::string Line(std::string_view label, const std::vector<const Entry*>& tensors) const;

  std::shared_ptr<const TensorSource> expected_;
  ParityTolerance tolerance_;
  bool encode_, bf16_;
  Results results_;
};

}  // namespace nextscale
