// convert, inspect, tokenize, reconstruct and parity on the golden models.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.h"
#include "cli/bits_file.h"
#include "engine/engine.h"
#include "metrics/psnr.h"
#include "run_command.h"

namespace nextscale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const ModelPaths kModelA{.transformer = Golden("models/a/transformer.pth"),
                         .vae = Golden("models/a/vae.pth"),
                         .text_encoder = Golden("models/t5-a")};

std::vector<std::string> With(std::vector<std::string> args, const ModelPaths& model) {
  for (const auto& [flag, path] :
       {std::pair("--transformer", model.transformer), std::pair("--vae", model.vae),
        std::pair("--text-encoder", model.text_encoder)}) {
    if (!path.empty()) args.insert(args.end(), {flag, path});
  }
  return args;
}

// The bits of a small picture, all scales one after the other.
std::vector<uint8_t> BitsOf(const ModelPaths& paths, DType type) {
  const OpContext ops;
  const ModelFiles files = *OpenModel(paths);
  const ModelInfo info = *ReadModelInfo(files);
  const std::vector<PromptText> texts = *EncodePrompts(files, info, {"red apple"}, type, ops, nullptr);
  const auto engine = *Engine::Load(files, info, {.transformer = type, .vae = type, .text = type}, ops);
  PictureRequest request;
  request.seed = 7;
  request.schedule = MakeSchedule(1.0, 5);
  request.cfg.assign(5, 3.0f);
  request.tau.assign(5, 1.0f);
  const ImageJob job{.request = request, .prompt = &texts[0]};
  const BatchResult result = *engine->Generate({&job, 1}, {}, ops);
  std::vector<uint8_t> bits;
  for (const Tensor& b : result.images[0].bits)
    bits.insert(bits.end(), b.data<uint8_t>(), b.data<uint8_t>() + b.elements());
  return bits;
}

TEST(ConvertTest, AnF32PackageGivesTheBitsOfItsParts) {
  const std::string package = Temporary("f32.safetensors");
  ASSERT_EQ(RunCommand(With({"convert", "-o", package, "--type", "f32", "--force"}, kModelA)).exit_status, 0);
  EXPECT_EQ(BitsOf({.model = package}, DType::kF32), BitsOf(kModelA, DType::kF32));
}

// By default matrices are stored in bf16, which loses nothing of files that hold bf16.
TEST(ConvertTest, ADefaultPackageOfBf16FilesGivesTheBitsOfItsParts) {
  const ModelPaths b{.transformer = Golden("models/b/transformer.pth"),
                     .vae = Golden("models/b/vae.pth"),
                     .text_encoder = Golden("models/t5-b")};
  const std::string package = Temporary("bf16.safetensors");
  ASSERT_EQ(RunCommand(With({"convert", "-o", package, "--force"}, b)).exit_status, 0);
  EXPECT_EQ(BitsOf({.model = package}, DType::kBF16), BitsOf(b, DType::kBF16));
  EXPECT_EQ(BitsOf({.model = package}, DType::kF32), BitsOf(b, DType::kF32));
}

TEST(ConvertTest, KeepsWhatNoTensorTells) {
  const std::string path = Temporary("e.safetensors");
  const ModelPaths e{.transformer = Golden("models/e/transformer.pth"),
                     .vae = Golden("models/c/vae.pth"),
                     .text_encoder = Golden("models/t5-a")};
  const CommandOutcome made = RunCommand(With(
      {"convert", "-o", path, "--force", "--name", "tiny", "--trained-pixels", "0.06M", "--preset", "cfg=2.5",
       "--option", "rope2d_normalized_by_hw=0", "--option", "add_lvl_embeding_only_first_block=0"},
      e));
  ASSERT_EQ(made.exit_status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("transformer bf16, VAE f32, text encoder bf16"));
  const json d = json::parse(RunCommand({"inspect", path, "--json"}).out);
  EXPECT_EQ(d["trained_pixels"], "0.06M");
  EXPECT_EQ(d["presets"]["cfg"], "2.5");
  EXPECT_EQ(d["parts"]["transformer"]["shape"]["rope2d_normalized_by_hw"], 0);
  EXPECT_EQ(d["parts"]["transformer"]["shape"]["add_lvl_embeding_only_first_block"], 0);
  EXPECT_EQ(d["parts"]["transformer"]["shape"]["chunks"], 2);
  EXPECT_GT(d["parts"]["transformer"]["types"]["bf16"], d["parts"]["transformer"]["types"]["f32"]);
}

TEST(ConvertTest, DoesNotOverwriteUnasked) {
  const std::string path = Temporary("package.safetensors");
  std::ofstream(path) << "mine";
  const CommandOutcome refused = RunCommand(With({"convert", "-o", path}, kModelA));
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST(InspectTest, ThePartsOfAModel) {
  const CommandOutcome run = RunCommand(With({"inspect", "--json"}, kModelA));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const json d = json::parse(run.out);
  const json& shape = d["parts"]["transformer"]["shape"];
  EXPECT_EQ(shape["depth"], 4);
  EXPECT_EQ(shape["width"], 64);
  EXPECT_EQ(shape["heads"], 4);
  EXPECT_EQ(shape["bits"], 8);
  EXPECT_EQ(shape["text_rows"], 512);
  EXPECT_EQ(d["parts"]["vae"]["shape"]["stride"], 16);
  EXPECT_EQ(d["parts"]["text"]["shape"]["layers"], 3);
  EXPECT_EQ(d["patchify"], false);
  EXPECT_EQ(d["pairs_with"]["vae"][0]["bits"], 8);
  EXPECT_EQ(d["pairs_with"]["text_encoder"]["width"], 128);
  ASSERT_FALSE(d["memory"].empty());
  EXPECT_GT(d["memory"][0]["peak"], d["memory"][0]["accounts"]["weights"]);
}

TEST(InspectTest, APartAloneAndAShardedFolder) {
  const json vae = json::parse(RunCommand({"inspect", Golden("models/d/vae.pth"), "--json"}).out);
  EXPECT_EQ(vae["parts"].size(), 1u);
  EXPECT_EQ(vae["parts"]["vae"]["shape"]["bits"], 14);
  EXPECT_EQ(vae["pairs_with"]["transformer"][1]["bits"], 56);
  const json sharded = json::parse(RunCommand({"inspect", Golden("models/d/transformer"), "--json"}).out);
  EXPECT_EQ(sharded["parts"]["transformer"]["shape"]["bits"], 56);
  EXPECT_EQ(sharded["parts"]["transformer"]["types"].size(), 2u);
}

TEST(InspectTest, ATextForPeople) {
  const CommandOutcome run = RunCommand(With({"inspect"}, kModelA));
  EXPECT_THAT(run.out, HasSubstr("depth 4, width 64, heads 4"));
  EXPECT_THAT(run.out, HasSubstr("peak"));
}

TEST(InspectTest, WhatIsNoModelIsAnError) {
  EXPECT_EQ(RunCommand({"inspect", "/nowhere"}).exit_status, 2);
  EXPECT_EQ(RunCommand({"inspect", Golden("vae-encode/expected.safetensors")}).exit_status, 1);
}

std::vector<std::string> Vae(std::vector<std::string> args) {
  return With(std::move(args), {.vae = Golden("models/a/vae.pth")});
}

TEST(TokenizeTest, TheGoldenPicturesBitsAndBack) {
  const std::string bits = Temporary("bits.safetensors"), picture = Golden("vae-encode/input.png");
  const CommandOutcome run = RunCommand(Vae({"tokenize", picture, "-o", bits}));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::vector<Tensor> got = *ReadBitsFile(bits),
                            want = *ReadBitsFile(Golden("vae-encode/expected.safetensors"));
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].shape(), want[k].shape()) << "scale " << k;
    EXPECT_EQ(std::memcmp(got[k].data<uint8_t>(), want[k].data<uint8_t>(), got[k].bytes()), 0)
        << "scale " << k;
  }

  const std::string from_bits = Temporary("from_bits.png"), from_picture = Temporary("from_picture.png");
  ASSERT_EQ(RunCommand(Vae({"reconstruct", bits, "-o", from_bits})).exit_status, 0);
  const CommandOutcome round_trip = RunCommand(Vae({"reconstruct", picture, "-o", from_picture}));
  EXPECT_THAT(round_trip.out, HasSubstr("PSNR"));
  EXPECT_EQ(ReadImage(from_bits)->rgb, ReadImage(from_picture)->rgb);
}

TEST(TokenizeTest, APictureOfNoSchedulesSizeIsResizedOnlyWhenAsked) {
  const std::string odd = Temporary("odd.png"), bits = Temporary("bits.safetensors");
  ASSERT_TRUE(
      WriteImage(odd, {.width = 200, .height = 130, .rgb = std::vector<uint8_t>(200 * 130 * 3, 90)}, {})
          .ok());
  const CommandOutcome refused = RunCommand(Vae({"tokenize", odd, "-o", bits}));
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--resize"));
  const CommandOutcome done = RunCommand(Vae({"tokenize", odd, "-o", bits, "--resize", "area"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("resized from 200x130"));
}

TEST(ReconstructTest, BitsOfAnotherModelAreAnError) {
  const CommandOutcome run = RunCommand(
      Vae({"reconstruct", Golden("vae-encode-patchify/expected.safetensors"), "-o", Temporary("x.png")}));
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.err, HasSubstr("scale 0 has 14"));
}

// A golden case beside the golden models, with one byte of a tensor changed.
std::string TamperedCase(const std::string& name, const std::string& tensor, int flip) {
  namespace fs = std::filesystem;
  const fs::path root = Temporary("tree"), folder = root / name;
  fs::remove_all(root);
  fs::create_directories(folder);
  fs::create_directory_symlink(Golden("models"), root / "models");
  fs::copy(Golden(name), folder, fs::copy_options::recursive);
  const std::string file = (folder / "expected.safetensors").string();
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::ptrdiff_t offset = -1;
  const StoredFile stored = *ReadSafetensors(file);
  for (const StoredTensor& t : stored.tensors) {
    if (t.info.name == tensor) offset = t.bytes.data() - t.file->bytes().data();
  }
  EXPECT_GE(offset, 0);
  std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
  f.seekg(offset + 3);
  const char byte = static_cast<char>(f.get() ^ flip);
  f.seekp(offset + 3);
  f.put(byte);
  return folder.string();
}

TEST(ParityTest, AWrongBitIsNamed) {
  const CommandOutcome run = RunCommand({"parity", TamperedCase("full-unguided", "scale01.bits", 1)});
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_THAT(run.out, HasSubstr("first wrong: scale01.bits[image 0, token 0, bit 3]"));
}

TEST(ParityTest, AWrongFloatIsOutOfTolerance) {
  const CommandOutcome run =
      RunCommand({"parity", TamperedCase("full-unguided", "cond", 0x01)});  // the exponent of its first value
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_THAT(run.out, ::testing::ContainsRegex("cond +FAILED"));
}

TEST(ParityTest, CalibrationIsOneOfTheKinds) {
  const CommandOutcome run = RunCommand({"parity", Golden("calibration"), Golden("full-unguided")});
  EXPECT_EQ(run.exit_status, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 cases: 2 ok, 0 failed"));
  EXPECT_THAT(run.out, ::testing::ContainsRegex("drafters +ok +equal"));
}

TEST(ParityTest, AWrongDrafterIsNamed) {
  const CommandOutcome run = RunCommand({"parity", TamperedCase("calibration", "drafters", 1)});
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_THAT(run.out, ::testing::ContainsRegex("drafters +FAILED +1 of 40 wrong"));
}

TEST(ParityTest, WhatIsNoCaseIsAnError) {
  EXPECT_EQ(RunCommand({"parity", Golden("models/a")}).exit_status, 2);
  const std::string folder = Temporary("case");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/request.json") << R"({"case": "x", "kind": "generate"})";
  const CommandOutcome run = RunCommand({"parity", folder});
  EXPECT_EQ(run.exit_status, 1);
  EXPECT_THAT(run.err, HasSubstr("request.json"));
}

TEST(BenchTest, PlanAndJson) {
  const CommandOutcome plan =
      RunCommand({"bench", "--preset", "infinity-2b", "--plan", "--json", "--scales", "80x80,96x96"});
  ASSERT_EQ(plan.exit_status, 0) << plan.err;
  const json d = json::parse(plan.out);
  EXPECT_EQ(d["settings"]["last_map"], json({96, 96}));
  EXPECT_GT(d["memory"]["planned_peak"], 0);
  EXPECT_EQ(RunCommand({"bench", "--preset", "infinity-2b", "--plan", "--scales", "80x"}).exit_status, 2);
}

TEST(BenchCommand, ListsGiveOneTable) {
  const CommandOutcome run = RunCommand(With({"bench", "--pixels", "0.06M", "--json", "--kv", "full,snapkv",
                                              "--kv-budget", "10%,50", "--prune", "none,fastvar"},
                                             kModelA));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const nlohmann::json variants = nlohmann::json::parse(run.out)["variants"];
  const std::vector<std::string> names = {"full",      "full fastvar",     "snapkv 10%", "snapkv 10% fastvar",
                                          "snapkv 50", "snapkv 50 fastvar"};
  ASSERT_EQ(variants.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(variants[i]["name"], names[i]);
  EXPECT_EQ(variants[0]["scales"].size(), 7u);
  EXPECT_EQ(variants[1]["scales"].size(), 5u);  // two are skipped
  // 265 tokens before the last map; a budget of 10% is 26.
  EXPECT_EQ(variants[2]["kv_bytes"].get<int64_t>() * 265, variants[0]["kv_bytes"].get<int64_t>() * 26);
  EXPECT_EQ(RunCommand(With({"bench", "--plan", "--kv", "full,snapkv"}, kModelA)).exit_status, 2);
}

TEST(BenchTest, AModelByStageScaleAndOp) {
  const CommandOutcome run =
      RunCommand(With({"bench", "--pixels", "0.06M", "--json", "--repeat", "2"}, kModelA));
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const json d = json::parse(run.out);
  ASSERT_EQ(d["scales"].size(), 7u);
  EXPECT_GT(d["scales"][6]["linear_seconds"], 0);
  EXPECT_GT(d["scales"][6]["attention_gflops"], 0);
  EXPECT_EQ(d["scales"][6]["kv_bytes"], d["scales"][5]["kv_bytes"]);  // the last map is not stored
  EXPECT_GT(d["memory"]["accounts"]["kv"]["peak"], 0);
  for (const char* stage : {"text", "transformer", "vae"}) EXPECT_GT(d[stage]["seconds"], 0) << stage;
  // The work from shapes is what the ops counted, but for the products outside `linear` and `attention`.
  const double counted = d["transformer"]["ops"]["linear"]["gflops"].get<double>() *
                         d["transformer"]["ops"]["linear"]["seconds"].get<double>();
  EXPECT_NEAR(counted, 1e3 * d["tflop"]["linear"].get<double>(), 0.01 * counted);
}

}  // namespace
}  // namespace nextscale
