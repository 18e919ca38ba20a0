#include "ops/isa.h"

#include <asm/prctl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <dnnl.hpp>
#include <fstream>

#include "hwy/targets.h"

namespace nextscale {
namespace {

// Of the kernel's interface for tile registers; Debian 12's headers may lack them.
constexpr int kArchReqXcompPerm = 0x1023;
constexpr int kXfeatureXtiledata = 18;

// oneDNN's ISA values are bit masks: a later set holds the bits of those that it includes.
bool Includes(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  return (static_cast<unsigned>(isa) & static_cast<unsigned>(part)) == static_cast<unsigned>(part);
}

Isa FromOneDnn() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  if (Includes(isa, dnnl::cpu_isa::avx512_core_amx))
    return RequestAmxPermission() ? Isa::kAmxBf16 : Isa::kAvx512Bf16;
  if (Includes(isa, dnnl::cpu_isa::avx512_core_bf16)) return Isa::kAvx512Bf16;
  if (Includes(isa, dnnl::cpu_isa::avx512_core)) return Isa::kAvx512;
  if (Includes(isa, dnnl::cpu_isa::avx2)) return Isa::kAvx2;
  return Isa::kBaseline;
}

// Highway may use no more than that.
void LimitHighway(Isa isa) {
  int64_t too_new = 0;
  if (isa < Isa::kAvx512) too_new |= HWY_AVX3 | HWY_AVX3_DL;
  if (isa < Isa::kAvx2) too_new |= HWY_AVX2;
  if (too_new) hwy::DisableTargets(too_new);
}

}  // namespace

std::string_view Name(Isa isa) {
  constexpr std::array<std::string_view, 5> kNames = {"baseline", "AVX2", "AVX-512", "AVX-512 bf16",
                                                      "AMX bf16"};
  return kNames[static_cast<int>(isa)];
}

Isa EffectiveIsa() {
  static const Isa isa = [] {
    const Isa found = FromOneDnn();
    LimitHighway(found);
    return found;
  }();
  return isa;
}

bool RequestAmxPermission() {
  static const bool granted = ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
  return granted;
}

std::string ProcessorDescription() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, model = "unknown processor";
  while (std::getline(info, line)) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      model = line.substr(line.find(": ") + 2);
      break;
    }
  }
  return fmt::format("{} ({})", model, Name(EffectiveIsa()));
}

std::string OneDnnVersion() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace nextscale
