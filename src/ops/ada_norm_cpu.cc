// The adaptive norm by Highway; rows are shared out among threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ada_norm_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <atomic>

#include "ops/chunks.h"
#include "ops/norm_internal.h"
#include "ops/norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nextscale {
namespace HWY_NAMESPACE {

template <class Y>
bool AdaNormRows(const AdaNormArgs& args, int64_t begin, int64_t end, Y* y) {
  const float* x = args.x.data<float>();
  const int64_t C = args.x.dim(1);
  bool finite = true;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t at = r / args.rows_per_stream * args.stream_stride;
    finite &= NormRow<true>(x + norm::RowOf(args.rows, r) * C, C, args.scale_BC + at, args.shift_BC + at,
                            args.eps, y + r * C);
  }
  return finite;
}

bool AdaNormChunk(const AdaNormArgs& args, int64_t begin, int64_t end) {
  return args.y.dtype() == DType::kF32 ? AdaNormRows(args, begin, end, args.y.data<float>())
                                       : AdaNormRows(args, begin, end, args.y.data<bf16_t>());
}

}  // namespace HWY_NAMESPACE
}  // namespace nextscale
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nextscale::norm {

HWY_EXPORT(AdaNormChunk);

bool AdaNormFast(const AdaNormArgs& args) {
  std::atomic<bool> finite{true};
  ForRowChunks(args.y.dim(0), args.y.dim(1), [&](int64_t begin, int64_t end, int) {
    if (!HWY_DYNAMIC_DISPATCH(AdaNormChunk)(args, begin, end)) finite = false;
  });
  return finite;
}

}  // namespace nextscale::norm
#endif  // HWY_ONCE
