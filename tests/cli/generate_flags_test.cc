#include "cli/generate_flags.h"

#include <gtest/gtest.h>

#include "test_model.h"

namespace nextscale {
namespace {

TEST(GenerateFlags, TextsAreTakenAsTheyAre) {
  const std::vector<std::string> odd = {"", "{}", "[a,b]", "-foo", "--seed", "%%", "'\"\\$x", " a\tb\n"};
  std::vector<std::string> arguments = {"-n", ""};
  for (const std::string& prompt : odd) arguments.insert(arguments.end(), {"-p", prompt});
  const GenerateFlags flags = ParseGenerate(arguments);
  EXPECT_EQ(flags.prompts, odd);
  ASSERT_TRUE(flags.negative.has_value());
  EXPECT_EQ(*flags.negative, "");
  EXPECT_TRUE(flags.seed.empty());
}

TEST(GenerateFlags, APromptTakesOneArgument) {
  EXPECT_THROW(ParseGenerate({"-p", "red", "apple"}), CLI::ExtrasError);
  EXPECT_THROW(ParseGenerate({"-p"}), CLI::ArgumentMismatch);
}

TEST(GenerateFlags, UnknownFlagsAndBadValuesAreRefused) {
  EXPECT_THROW(ParseGenerate({"-p", "a", "--bogus"}), CLI::ExtrasError);
  EXPECT_THROW(ParseGenerate({"-p", "a", "--batch", "0"}), CLI::ValidationError);
  EXPECT_THROW(ParseGenerate({"-p", "a", "--top-p", "high"}), CLI::ConversionError);
  EXPECT_THROW(ParseGenerate({"-p", "a", "--rng", "mine"}), CLI::ValidationError);
}

TEST(GenerateFlags, ContradictionsAreRefused) {
  EXPECT_FALSE(CheckFlags(ParseGenerate({})).ok());
  EXPECT_FALSE(CheckFlags(ParseGenerate({"-p", "a", "--prompts", "f"})).ok());
  EXPECT_FALSE(CheckFlags(ParseGenerate({"-p", "a", "--keep-scales", "3"})).ok());
  EXPECT_FALSE(CheckFlags(ParseGenerate({"-p", "a", "--preview-size"})).ok());
  EXPECT_FALSE(CheckFlags(ParseGenerate({"-p", "a", "--preview", "d", "--preview-size", "big"})).ok());
}

TEST(GenerateFlags, PreviewSizeMayStandAlone) {
  EXPECT_EQ(ParseGenerate({"-p", "a", "--preview", "d"}).preview_size, "map");
  EXPECT_EQ(ParseGenerate({"-p", "a", "--preview", "d", "--preview-size"}).preview_size, "full");
  EXPECT_EQ(ParseGenerate({"-p", "a", "--preview", "d", "--preview-size", "map"}).preview_size, "map");
}

TEST(ParseNumbers, OneOrAList) {
  EXPECT_EQ(ParseNumbers("3", "--cfg").value(), std::vector<float>({3}));
  EXPECT_EQ(ParseNumbers("3,2.5,-1e-2", "--cfg").value(), std::vector<float>({3, 2.5f, -0.01f}));
  for (const char* bad : {"", ",", "3,", ",3", "3,,3", "x", "3x", " 3", "nan", "inf", "1e99"}) {
    EXPECT_EQ(ParseNumbers(bad, "--cfg").status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ParseDoubles("0.97", "--top-p").value(), std::vector<double>({0.97}));
  EXPECT_EQ(ParseIntegers("0,-3", "").value(), std::vector<int>({0, -3}));
  EXPECT_FALSE(ParseIntegers("0.5", "").ok());
  EXPECT_FALSE(ParseIntegers("99999999999", "").ok());
}

TEST(ParseBytes, UnitsAreBinary) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  EXPECT_EQ(ParseBytes("12G", "--memory-limit").value(), 12 * kGiB);
  EXPECT_EQ(ParseBytes("1.5GiB", "--memory-limit").value(), kGiB * 3 / 2);
  EXPECT_EQ(ParseBytes("512M", "--memory-limit").value(), kGiB / 2);
  EXPECT_EQ(ParseBytes("1000", "--memory-limit").value(), 1000);
  for (const char* bad : {"", "G", "12X", "-1G", "0", "nan", "inf", "12 G", "1e30"}) {
    EXPECT_FALSE(ParseBytes(bad, "--memory-limit").ok()) << bad;
  }
}

TEST(ParseSeed, All64Bits) {
  EXPECT_EQ(ParseSeed("0").value(), 0u);
  EXPECT_EQ(ParseSeed("010").value(), 10u);  // decimal, whatever a C parser makes of it
  EXPECT_EQ(ParseSeed("18446744073709551615").value(), ~uint64_t{0});
  for (const char* bad : {"", "18446744073709551616", "-1", "1.0", "0x10", "1 "}) {
    EXPECT_FALSE(ParseSeed(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace nextscale
