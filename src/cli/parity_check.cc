#include "cli/parity_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

namespace nextscale {
namespace {

using enum ParityRule;

struct Stage {
  std::string_view name;  // last part of a tensor's name, without the number it may end with
  ParityRule f32, bf16, bf16_encode;
};

// In the order of the computation. Encoding in bf16 is judged by its features: a wrong bit changes all
// residuals after it.
constexpr Stage kStages[] = {
    {"ids", kEqual, kEqual, kEqual},
    {"relative_buckets", kEqual, kEqual, kEqual},
    {"t5", kRelative, kRounded, kReport},
    {"cond", kRelative, kRounded, kReport},
    {"text_rows", kRelative, kRounded, kReport},
    {"input", kRelative, kRounded, kReport},
    {"block", kRelative, kRounded, kReport},
    {"logits", kRelative, kRange, kReport},
    {"features", kRelative, kRounded, kRounded},
    {"residual", kRelative, kReport, kReport},
    {"bits", kEqual, kShare, kReport},
    {"summed", kRelative, kRelative, kReport},
    {"next_inputs", kRelative, kReport, kReport},
    {"image", kImage, kRounded, kReport},
    {"pixels", kBytes, kReport, kBytes},
    {"reconstruction", kBytes, kReport, kReport},
    {"current", kRelative, kRounded, kReport},
    {"top", kRelative, kRounded, kReport},
    {"asi", kRelative, kRounded, kReport},
    {"z", kRelative, kReport, kReport},
    {"drafters", kEqual, kReport, kReport},
    {"by_prompt", kEqual, kReport, kReport},
    {"by_top", kEqual, kReport, kReport},
    {"by_current", kEqual, kReport, kReport},
    {"budgets", kEqual, kReport, kReport},
};

// What is read from the expected file instead of compared with it.
bool IsInput(std::string_view stage) { return stage == "draws"; }

// bf16 has 8 bits of mantissa: a product's rounding of 2^-9 of a value, gathered over a few layers, leaves
// logits well within 1.5% of their range; a bit turns where its outcome stood closer than that.
constexpr double kBf16Range = 1.5e-2;
constexpr double kBf16WrongShare = 1e-2;
// Of values on their way: through a few T5 layers, four blocks or some thirty convolutions of random weights
// at most 2.2% of the range was measured.
constexpr double kBf16Rounded = 6e-2;

std::string_view StageOf(std::string_view name) {
  name = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  const size_t end = name.find_last_not_of("0123456789");
  // "t5" ends with its own digit.
  return end == std::string_view::npos || name == "t5" ? name : name.substr(0, end + 1);
}

double ValueAt(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<const float*>(data)[i];
    case DType::kF64:
      return static_cast<const double*>(data)[i];
    case DType::kBF16:
      return static_cast<float>(static_cast<const bf16_t*>(data)[i]);
    case DType::kI32:
      return static_cast<const int32_t*>(data)[i];
    case DType::kU8:
      return static_cast<const uint8_t*>(data)[i];
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// "[0, 5, 2]", of token-wise bits "[image 0, token 5, bit 2]".
std::string Place(std::string_view name, const Shape& shape, int64_t flat) {
  std::vector<int64_t> at(shape.rank());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    at[i] = flat % shape[i];
    flat /= shape[i];
  }
  if (StageOf(name) == "bits" && shape.rank() == 3) {
    return fmt::format("[image {}, token {}, bit {}]", at[0], at[1], at[2]);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

}  // namespace

ParityCheck::ParityCheck(std::shared_ptr<const TensorSource> expected, const ParityCase& request, bool bf16)
    : expected_(std::move(expected)),
      tolerance_(request.tolerance),
      encode_(request.kind == "encode"),
      bf16_(bf16) {
  for (const TensorInfo* t : expected_->List()) {
    if (IsInput(StageOf(t->name))) continue;
    results_[t->name] = {.rule = RuleOf(StageOf(t->name)), .elements = t->shape.elements()};
  }
}

ParityRule ParityCheck::RuleOf(std::string_view stage) const {
  for (const Stage& s : kStages) {
    if (s.name == stage) return !bf16_ ? s.f32 : encode_ ? s.bf16_encode : s.bf16;
  }
  return kEqual;
}

double ParityCheck::Tolerance(ParityRule rule) const {
  switch (rule) {
    case kRelative:
      return tolerance_.floats;
    case kImage:
      return tolerance_.image;
    case kBytes:
      return tolerance_.pixels;
    case kRange:
      return kBf16Range;
    case kRounded:
      return kBf16Rounded;
    case kShare:
      return kBf16WrongShare;
    case kEqual:
    case kReport:
      break;
  }
  return 0;
}

// In the unit of the rule's tolerance.
double ParityCheck::Measure(const Result& r) {
  const auto ratio = [](double a, double b) { return a == 0 ? 0 : a / b; };
  switch (r.rule) {
    case kRelative:
    case kImage:
    case kReport:
      return ratio(r.difference, r.largest);
    case kRange:
    case kRounded:
      return ratio(r.difference, r.range);
    case kBytes:
      return r.difference;
    case kShare:
    case kEqual:
      break;
  }
  return ratio(static_cast<double>(r.wrong), static_cast<double>(r.elements));
}

StatusOr<Tensor> ParityCheck::Expected(std::string_view name) const {
  const TensorInfo* info = expected_->Find(name);
  if (!info) {
    return FileError(fmt::format("{} has no tensor {}", expected_->Describe(), name), "the case needs it");
  }
  // Sources give floats as f32 or bf16; f32 keeps far more of an f64 than any tolerance asks.
  const DType to = info->dtype == DType::kF64 ? DType::kF32 : info->dtype;
  return ReadTensor(*expected_, name, info->shape, to, {});
}

void ParityCheck::SeePart(std::string_view name, ConstView got, int64_t index, int64_t parts) {
  const auto it = results_.find(name);
  if (it == results_.end()) return;
  Result& result = it->second;
  if (got.elements() * parts != result.elements) {
    result.error = fmt::format("its shape is {}{}, expected {}", ToString(got.shape()),
                               parts > 1 ? " an image" : "", ToString(expected_->Find(name)->shape));
    return;
  }
  StatusOr<Tensor> expected = Expected(name);
  if (!expected.ok()) {
    result.error = std::string(expected.status().message());
    return;
  }
  Compare(*expected, got, index * got.elements(), name, result);
}

void ParityCheck::Compare(const Tensor& expected, ConstView got, int64_t begin, std::string_view name,
                          Result& r) const {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double value = ValueAt(expected.view().raw(), expected.dtype(), i);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  r.largest = std::max(std::abs(low), std::abs(high));
  r.range = high - low;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double want = ValueAt(expected.view().raw(), expected.dtype(), begin + i),
                 have = ValueAt(got.raw(), got.dtype(), i);
    if (want == have) continue;
    if (r.wrong++ == 0) {
      r.first_wrong = fmt::format("{}{}: {:g}, expected {:g}", name, Place(name, expected.shape(), begin + i),
                                  have, want);
    }
    const double difference = std::abs(want - have);
    r.difference =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(r.difference, difference);
  }
  r.seen += got.elements();
}

bool ParityCheck::Finish() {
  std::map<std::string_view, std::pair<int64_t, int64_t>> shares;  // wrong, all, of stages judged as a whole
  for (auto& [name, r] : results_) {
    if (r.error.empty() && r.seen != r.elements) {
      r.error = r.seen == 0 ? "it was not computed"
                            : fmt::format("{} of {} values were computed", r.seen, r.elements);
    }
    if (r.rule == kShare) {
      shares[StageOf(name)].first += r.wrong;
      shares[StageOf(name)].second += r.elements;
    }
  }
  bool all = true;
  for (auto& [name, r] : results_) {
    if (r.rule == kShare) {
      const auto [wrong, elements] = shares[StageOf(name)];
      r.ok = static_cast<double>(wrong) <= kBf16WrongShare * static_cast<double>(elements);
    } else if (r.rule == kReport) {
      r.ok = std::isfinite(r.difference);
    } else {
      r.ok = Measure(r) <= Tolerance(r.rule);
    }
    r.ok = r.ok && r.error.empty();
    all = all && r.ok;
  }
  return all;
}

std::string ParityCheck::Line(std::string_view label, const std::vector<const Entry*>& tensors) const {
  const Entry* worst = tensors.front();
  int64_t wrong = 0, elements = 0;
  bool ok = true;
  std::string trouble;
  for (const Entry* t : tensors) {
    const Result& r = t->second;
    if (Measure(r) > Measure(worst->second)) worst = t;
    wrong += r.wrong;
    elements += r.elements;
    if (trouble.empty() && !r.error.empty()) trouble = fmt::format("{}: {}", t->first, r.error);
    if (trouble.empty() && !r.ok && !r.first_wrong.empty()) trouble = "first wrong: " + r.first_wrong;
    ok = ok && r.ok;
  }
  const ParityRule rule = worst->second.rule;
  std::string what;
  if (rule == kEqual) {
    what = wrong == 0 ? "equal" : fmt::format("{} of {} wrong", wrong, elements);
  } else if (rule == kShare) {
    what = fmt::format("{:.2f}% agree, at least {:.0f}%", 100 - 100.0 * wrong / elements,
                       100 - 100 * kBf16WrongShare);
  } else if (rule == kBytes) {
    what = fmt::format("{:g} of {:g}", Measure(worst->second), Tolerance(rule));
  } else if (rule == kReport) {
    what = fmt::format("{:.1e}, not judged", Measure(worst->second));
  } else {
    what = fmt::format("{:.1e} of {:.1e}{}", Measure(worst->second), Tolerance(rule),
                       rule == kRange || rule == kRounded ? " of the range" : "");
  }
  const std::string count =
      tensors.size() > 1 ? fmt::format("{} tensors, worst {}", tensors.size(), worst->first) : worst->first;
  return fmt::format("  {:<17} {:<6} {:<34} {}\n", label, ok ? "ok" : "FAILED", what, count) +
         (ok || trouble.empty() ? "" : fmt::format("{:27}{}\n", "", trouble));
}

std::string ParityCheck::Report(bool each_tensor) const {
  std::string out;
  for (const Stage& stage : kStages) {
    std::vector<const Entry*> tensors;
    for (const Entry& entry : results_) {
      if (StageOf(entry.first) == stage.name) tensors.push_back(&entry);
    }
    if (tensors.empty()) continue;
    out += Line(stage.name, tensors);
    if (!each_tensor || tensors.size() == 1) continue;
    for (const Entry* tensor : tensors) out += Line("", {tensor});
  }
  for (const Entry& entry : results_) {
    if (std::none_of(std::begin(kStages), std::end(kStages),
                     [&](const Stage& s) { return s.name == StageOf(entry.first); })) {
      out += Line(entry.first, {&entry});
    }
  }
  return out;
}

}  // namespace nextscale
