// Which instruction sets this run uses: what the processor has, narrowed by ONEDNN_MAX_CPU_ISA, which oneDNN
// obeys too.
#pragma once

#include <string>
#include <string_view>

namespace nextscale {

// In ascending order; each includes those before it.
enum class Isa { kBaseline, kAvx2, kAvx512, kAvx512Bf16, kAmxBf16 };
std::string_view Name(Isa isa);

// Decided once a process; also limits Highway's targets, so call it (an OpContext does) before any op.
Isa EffectiveIsa();
// True where bf16 products are faster than f32 ones: with AVX-512 bf16 or AMX. Elsewhere bf16 weights are
// multiplied in f32.
inline bool HasFastBf16(Isa isa) { return isa >= Isa::kAvx512Bf16; }
// Asks the kernel, once a process, for the right to use AMX tiles; false if it refuses.
bool RequestAmxPermission();
// "AMD EPYC ... (AVX-512 bf16)": model name and class, for reports.
std::string ProcessorDescription();
// The oneDNN that this run uses.
std::string OneDnnVersion();

}  // namespace nextscale
