#include "cli/type_flags.h"

#include <gtest/gtest.h>

#include "ops/isa.h"

namespace nextscale {
namespace {

TEST(ParseTypes, ByPartOverTheDefault) {
  const EngineTypes all = ParseTypes("f32").value();
  EXPECT_EQ(all.transformer, DType::kF32);
  EXPECT_EQ(all.vae, DType::kF32);
  EXPECT_EQ(all.text, DType::kF32);
  const EngineTypes mixed = ParseTypes("bf16,vae=f32").value();
  EXPECT_EQ(mixed.transformer, DType::kBF16);
  EXPECT_EQ(mixed.vae, DType::kF32);
  EXPECT_EQ(mixed.text, DType::kBF16);
  const DType usual = HasFastBf16(EffectiveIsa()) ? DType::kBF16 : DType::kF32;
  EXPECT_EQ(ParseTypes("").value().transformer, usual);
  EXPECT_EQ(ParseTypes("text=f32").value().transformer, usual);
}

TEST(ParseTypes, WrongOnesAreRefused) {
  for (const char* bad : {"f16", "vae=", "vea=f32", "=f32", "f32,,"}) {
    EXPECT_EQ(ParseTypes(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ParseTypes("int8").status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ParseTypes("transformer=int8").status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace nextscale
