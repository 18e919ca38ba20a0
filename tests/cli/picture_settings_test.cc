#include "cli/picture_settings.h"

#include <gtest/gtest.h>

#include "cli/format.h"
#include "test_model.h"

namespace nextscale {
namespace {

// Settings written to a file and read back as a command give the same request.
Picture RoundTrip(const Picture& picture, const RunSettings& run, const std::string& ending) {
  const std::string path = testing::TempDir() + "settings" + ending;
  const Image image{.width = 2, .height = 1, .rgb = {1, 2, 3, 4, 5, 6}};
  EXPECT_TRUE(WriteImage(path, image, SettingsText(picture, run)).ok());
  const ImageText text = ReadImageText(path).value();
  const auto arguments = SettingsArguments(text.at("nextscale"));
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  ModelFiles files;
  files.options = {{"preset.cfg", "9"}};
  const auto list = MakePictureList(ParseGenerate(*arguments), TestModelInfo(), files);
  EXPECT_TRUE(list.ok()) << list.status();
  return list->pictures[0];
}

Picture MakePicture(const std::vector<std::string>& arguments) {
  return MakePictureList(ParseGenerate(arguments), TestModelInfo(), ModelFiles())->pictures[0];
}

void ExpectSame(const PictureRequest& a, const PictureRequest& b) {
  EXPECT_EQ(a.prompt, b.prompt);
  EXPECT_EQ(a.negative, b.negative);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.schedule.maps, b.schedule.maps);
  EXPECT_EQ(a.cfg, b.cfg);
  EXPECT_EQ(a.tau, b.tau);
  EXPECT_EQ(a.top_p, b.top_p);
  EXPECT_EQ(a.top_k, b.top_k);
  EXPECT_EQ(a.cfg_insertion_layer, b.cfg_insertion_layer);
  EXPECT_EQ(a.rng, b.rng);
  EXPECT_EQ(a.uncond_until, b.uncond_until);
}

TEST(PictureSettings, RoundTripThroughEveryFormat) {
  const std::vector<std::vector<std::string>> cases = {
      {"-p", "red apple", "-s", "18446744073709551615"},
      {"-p", "", "-n", "", "-s", "0", "--pixels", "0.06M", "--cfg", "1"},
      {"-p", "", "--pixels", "0.06M", "--uncond-until", "4"},
      {"-p",
       "it's \"odd\"; $(rm) `x` \\ \n 赤い林檎 -- é",
       "-n",
       "-dull",
       "--aspect",
       "2:3",
       "--tau",
       "0.1,0.2,0.3,0.4,0.5,0.6,0.7",
       "--pixels",
       "0.06M",
       "--top-p",
       "0.123456789012",
       "--top-k",
       "1",
       "--rng",
       "torch",
       "--cfg-insertion-layer",
       "0,-2",
       "--cfg",
       "-1.5"},
      {"-p", "{}", "--size", "1x1", "--top-p", "0"}};
  for (const auto& arguments : cases) {
    const Picture picture = MakePicture(arguments);
    for (const char* ending : {".png", ".jpg", ".webp"}) {
      SCOPED_TRACE(std::string(ending) + " " + arguments[1]);
      ExpectSame(RoundTrip(picture, {.model = "m"}, ending).request, picture.request);
    }
  }
}

TEST(PictureSettings, ModelTypesAndBitsComeBackAsFlags) {
  RunSettings run{.model = "m", .from_bits = "b.safetensors", .keep_scales = 3};
  run.model_flags = {
      .transformer = "t t.pth", .vae = "v.pth", .text_encoder = "e", .options = {"a=1", "b=2"}};
  run.types = {.transformer = DType::kF32, .vae = DType::kBF16, .text = DType::kF32};
  const std::string json = SettingsText(MakePicture({"-p", "a"}), run).at("nextscale");
  const GenerateFlags flags = ParseGenerate(SettingsArguments(json).value());
  EXPECT_EQ(flags.model.transformer, "t t.pth");
  EXPECT_EQ(flags.model.vae, "v.pth");
  EXPECT_EQ(flags.model.text_encoder, "e");
  EXPECT_EQ(flags.model.options, std::vector<std::string>({"a=1", "b=2"}));
  EXPECT_EQ(flags.type, "transformer=f32,vae=bf16,text=f32");
  EXPECT_EQ(flags.from_bits, "b.safetensors");
  EXPECT_EQ(flags.keep_scales, 3);
}

TEST(PictureSettings, A1111Form) {
  const std::string text =
      SettingsText(MakePicture({"-p", "a b", "-n", "c", "-s", "7"}), {.model = "m"}).at("parameters");
  EXPECT_EQ(
      text.find("a b\nNegative prompt: c\nSteps: 13, CFG scale: 3, Seed: 7, Size: 1024x1024, Model: m, "), 0u)
      << text;
  EXPECT_NE(text.find("Version: nextscale "), std::string::npos);
}

TEST(PictureSettings, DamagedSettingsAreAnErrorThatNamesTheField) {
  const std::string good = SettingsText(MakePicture({"-p", "a"}), {.model = "m"}).at("nextscale");
  for (const char* field : {"prompt", "seed", "width", "height", "cfg", "tau", "top_p", "top_k", "rng"}) {
    nlohmann::json damaged = nlohmann::json::parse(good);
    damaged[field] = nlohmann::json::object();
    const Status status = SettingsCommand(damaged.dump()).status();
    EXPECT_EQ(ExitCode(status), 1) << field;
    EXPECT_NE(status.message().find(field), absl::string_view::npos) << status;
  }
  EXPECT_FALSE(SettingsCommand("").ok());
  EXPECT_FALSE(SettingsCommand("[1]").ok());
  EXPECT_FALSE(SettingsCommand("{").ok());
}

TEST(ShellQuoted, OneWord) {
  EXPECT_EQ(ShellQuoted("a-b_c./:=,+@1"), "a-b_c./:=,+@1");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted("$x `y`"), "'$x `y`'");
}

TEST(Format, ShortDoubleAndBytes) {
  EXPECT_EQ(ShortDouble(0.97f), 0.97);
  EXPECT_EQ(static_cast<float>(ShortDouble(1.0f / 3)), 1.0f / 3);
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(int64_t{3} << 29), "1.50 GiB");
}

}  // namespace
}  // namespace nextscale
