// T5's bidirectional relative buckets (oracle/var_infinity.py, t5_buckets): half of the buckets for keys
// behind the query; of each half one bucket a distance up to `exact`, then bucket exact + floor(m *
// log(distance / exact) / log(max_distance / exact)), m buckets, the last for all that is farther.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "model/text/t5_encoder.h"

namespace nextscale {
namespace {

// A natural number as large as it gets.
class Natural {
 public:
  Natural() : limbs_{1} {}
  // *this *= factor^power.
  Natural& Times(uint32_t factor, int64_t power) {
    for (int64_t i = 0; i < power; ++i) {
      uint64_t carry = 0;
      for (uint32_t& limb : limbs_) {
        carry += uint64_t{limb} * factor;
        limb = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
      if (carry) limbs_.push_back(static_cast<uint32_t>(carry));
    }
    return *this;
  }
  bool AtLeast(const Natural& other) const {  // factors are positive: no leading zeros
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() > other.limbs_.size();
    return !std::lexicographical_compare(limbs_.rbegin(), limbs_.rend(), other.limbs_.rbegin(),
                                         other.limbs_.rend());
  }

 private:
  std::vector<uint32_t> limbs_;
};

// floor(m * log(distance / exact) / log(max_distance / exact)). Next to a step (distance / exact)^m >=
// (max_distance / exact)^step decides, in integers: the quotient of logarithms may come out on either side of
// it.
int64_t LogStep(int64_t distance, int64_t exact, int64_t max_distance, int64_t m) {
  const double at = static_cast<double>(m) *
                    std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                    std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const int64_t step = std::llround(at);
  constexpr double kNear = 1e-6;  // `at` is good to about 1e-12
  if (std::fabs(at - static_cast<double>(step)) > kNear) return static_cast<int64_t>(at);
  const auto d = static_cast<uint32_t>(distance), e = static_cast<uint32_t>(exact),
             far = static_cast<uint32_t>(max_distance);
  const bool reached = Natural().Times(d, m).Times(e, step).AtLeast(Natural().Times(far, step).Times(e, m));
  return reached ? step : step - 1;
}

}  // namespace

int64_t RelativeBucket(int64_t key_minus_query, int64_t buckets, int64_t max_distance) {
  const int64_t half = buckets / 2, exact = half / 2;
  NS_CHECK(exact >= 1 && max_distance > exact && max_distance <= UINT32_MAX, "{} buckets, distance {}",
           buckets, max_distance);
  const int64_t first = key_minus_query > 0 ? half : 0;
  const int64_t distance = std::abs(key_minus_query);
  if (distance < exact) return first + distance;
  if (distance >= max_distance) return first + half - 1;
  return first + std::min(exact + LogStep(distance, exact, max_distance, half - exact), half - 1);
}

}  // namespace nextscale
