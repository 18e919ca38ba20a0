// Vectors of f32 over memory that holds f32 or bf16, for Highway files that include this after
// foreach_target.h. Loops take a generic body(i, part): `part` is Whole for full vectors and Part for what is
// left of a row, and is handed on to Load and Store.
#if defined(NEXTSCALE_OPS_SIMD_COMMON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NEXTSCALE_OPS_SIMD_COMMON_INL_H_
#undef NEXTSCALE_OPS_SIMD_COMMON_INL_H_
#else
#define NEXTSCALE_OPS_SIMD_COMMON_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
using HalfTag = hn::Rebind<uint16_t, FloatTag>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

struct Whole {};
struct Part {
  size_t n;  // below the vector's length
};

HWY_INLINE FloatVec Load(const float* p, Whole) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE FloatVec Load(const bf16_t* p, Whole) {
  const auto half = hn::LoadU(HalfTag(), reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), half)));
}

HWY_INLINE void Store(FloatVec v, float* p, Whole) { hn::StoreU(v, FloatTag(), p); }
// Rounds to nearest even, NaN stays NaN: bf16_t(float). (Highway 1.0.3's own demotion cuts the low bits off.)
HWY_INLINE void Store(FloatVec v, bf16_t* p, Whole) {
  const BitsTag d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto even = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff)));
  const auto rounded =
      hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), hn::Or(bits, hn::Set(d, 0x400000)), even);
  const auto half =
      hn::DemoteTo(HalfTag(), hn::BitCast(hn::RebindToSigned<BitsTag>(), hn::ShiftRight<16>(rounded)));
  hn::StoreU(half, HalfTag(), reinterpret_cast<uint16_t*>(p));
}

// The lanes past the part are zero.
template <class T>
HWY_INLINE FloatVec Load(const T* p, Part part) {
  HWY_ALIGN T lanes[kMaxLanes] = {};
  std::memcpy(static_cast<void*>(lanes), p, part.n * sizeof(T));
  return Load(lanes, Whole());
}
template <class T>
HWY_INLINE void Store(FloatVec v, T* p, Part part) {
  HWY_ALIGN T lanes[kMaxLanes];
  Store(v, lanes, Whole());
  std::memcpy(static_cast<void*>(p), lanes, part.n * sizeof(T));
}

// Zeroes the lanes past the part.
HWY_INLINE FloatVec Keep(FloatVec v, Whole) { return v; }
HWY_INLINE FloatVec Keep(FloatVec v, Part part) {
  return hn::IfThenElseZero(hn::FirstN(FloatTag(), part.n), v);
}

// Calls body(i, part) over [0, n).
template <class Body>
HWY_INLINE void ForVectors(int64_t n, const Body& body) {
  const int64_t N = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t i = 0;
  for (; i + N <= n; i += N) body(i, Whole());
  if (i < n) body(i, Part{static_cast<size_t>(n - i)});
}

// Sum of the vectors term(i, part) over [0, n); four running sums, so that additions don't wait for each
// other.
template <class Term>
HWY_INLINE float SumVectors(int64_t n, const Term& term) {
  const FloatTag d;
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  FloatVec s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    s0 = hn::Add(s0, term(i, Whole()));
    s1 = hn::Add(s1, term(i + N, Whole()));
    s2 = hn::Add(s2, term(i + 2 * N, Whole()));
    s3 = hn::Add(s3, term(i + 3 * N, Whole()));
  }
  ForVectors(n - i, [&](int64_t j, auto part) HWY_ATTR { s0 = hn::Add(s0, Keep(term(i + j, part), part)); });
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#endif  // NEXTSCALE_OPS_SIMD_COMMON_INL_H_
