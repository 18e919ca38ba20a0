// bf16 attention with the real tiles. The caller has asked the kernel for the right to use them.
#include "ops/attention_amx-inl.h"

namespace nextscale::attention {
namespace {

// GCC 12's intrinsics for loads don't say that they read memory, so stores before them could be moved after
// them; hence plain asm.
struct AmxTiles {
  static void Configure(const TileConfig& config) { asm volatile("ldtilecfg %0" : : "m"(config)); }
  static void Release() { asm volatile("tilerelease"); }
  template <int T>
  static void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  static void Load(const void* base, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(base), "r"(stride), "i"(T) : "memory");
  }
  template <int T>
  static void Store(void* base, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(base), "r"(stride), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  static void MultiplyAdd() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
};

}  // namespace

const Bf16Kernel& AmxKernel() {
  static constexpr Bf16Kernel kernel = TileKernel<AmxTiles>();
  return kernel;
}

}  // namespace nextscale::attention
