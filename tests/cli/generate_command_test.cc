// `nextscale generate` and `metadata` from the call to the files, on the golden models.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/bits_file.h"
#include "cli/generate_report.h"
#include "cli/picture_settings.h"
#include "metrics/image_io.h"
#include "run_command.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class GenerateCommandTest : public InOwnFolder {
 protected:
  // Golden model c (or d, with patchify), small pictures, f32.
  static CommandOutcome Generate(std::vector<std::string> arguments, bool patchify = false) {
    std::vector<std::string> all = WithModelC("generate");
    if (patchify)
      all[2] = Golden("models/d/transformer"), all[4] = Golden("models/d/vae.pth"),
      all[6] = Golden("models/t5-b");
    if (std::find(arguments.begin(), arguments.end(), "--size") == arguments.end())
      all.insert(all.end(), {"--pixels", "0.06M"});
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunCommand(all);
  }
  static std::vector<uint8_t> Pixels(const std::string& path) {
    const StatusOr<Image> image = ReadImage(path);
    EXPECT_TRUE(image.ok()) << image.status();
    return image.ok() ? image->rgb : std::vector<uint8_t>();
  }
  static nlohmann::json Json(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
  }
};

TEST_F(GenerateCommandTest, APictureIsTheSameAloneAndInABatch) {
  const CommandOutcome batch = Generate({"-p", "red apple", "-p", "a longer prompt, blue", "-p", "", "-n",
                                         "dull", "-b", "3", "-s", "5", "-o", "b%d.png"});
  ASSERT_EQ(batch.exit_status, 0) << batch.err;
  EXPECT_THAT(batch.out, HasSubstr("b1.png  seed 6  32x32"));
  ASSERT_EQ(Generate({"-p", "a longer prompt, blue", "-n", "dull", "-s", "6", "-o", "alone.png"}).exit_status,
            0);
  EXPECT_EQ(Pixels("b1.png"), Pixels("alone.png"));
  EXPECT_NE(Pixels("b1.png"), Pixels("b0.png"));
}

TEST_F(GenerateCommandTest, TheStoredCommandMakesThePictureAgain) {
  ASSERT_EQ(
      Generate({"-p", "it's \"red\"", "-s", "7", "--cfg", "3,3,3,2,2,1,1", "--rng", "torch", "-o", "a.webp"})
          .exit_status,
      0);
  const CommandOutcome command = RunCommand({"metadata", "a.webp", "--command"});
  EXPECT_THAT(command.out, StartsWith("nextscale generate "));
  const std::string json = RunCommand({"metadata", "a.webp", "--json"}).out;
  std::vector<std::string> again = SettingsArguments(json).value();
  again.insert(again.begin(), "generate");
  again.insert(again.end(), {"-o", "again.png"});
  ASSERT_EQ(RunCommand(again).exit_status, 0);
  ASSERT_EQ(
      Generate({"-p", "it's \"red\"", "-s", "7", "--cfg", "3,3,3,2,2,1,1", "--rng", "torch", "-o", "a.png"})
          .exit_status,
      0);
  EXPECT_EQ(Pixels("again.png"), Pixels("a.png"));
  EXPECT_THAT(RunCommand({"metadata", "a.png"}).out,
              StartsWith("it's \"red\"\nSteps: 7, CFG scale: 3,3,3,2,2,1,1, Seed: 7"));
  ASSERT_EQ(Generate({"-p", "x", "--no-metadata", "-o", "bare.png"}).exit_status, 0);
  EXPECT_EQ(RunCommand({"metadata", "bare.png"}).exit_status, 1);
}

TEST_F(GenerateCommandTest, KeptBitsStayAndTheRestIsDrawnAnew) {
  for (const bool patchify : {false, true}) {
    ASSERT_EQ(
        Generate({"-p", "x", "-s", "1", "-o", "a.png", "--save-bits", "a.safetensors"}, patchify).exit_status,
        0);
    ASSERT_EQ(Generate({"-p", "x", "-s", "2", "-o", "b.png", "--from-bits", "a.safetensors", "--keep-scales",
                        "3", "--save-bits", "b.safetensors"},
                       patchify)
                  .exit_status,
              0);
    ASSERT_EQ(Generate({"-p", "x", "-s", "2", "-o", "same.png", "--from-bits", "a.safetensors"}, patchify)
                  .exit_status,
              0);
    EXPECT_EQ(Pixels("same.png"), Pixels("a.png"));
    EXPECT_NE(Pixels("b.png"), Pixels("a.png"));
    const auto a = ReadBitsFile("a.safetensors").value(), b = ReadBitsFile("b.safetensors").value();
    ASSERT_EQ(a.size(), 7u);
    for (size_t k = 0; k < a.size(); ++k) {
      const bool equal =
          std::equal(a[k].data<uint8_t>(), a[k].data<uint8_t>() + a[k].elements(), b[k].data<uint8_t>());
      EXPECT_TRUE(k < 3 ? equal : true) << "scale " << k;
      EXPECT_FALSE(k == 6 && equal);
    }
  }
}

TEST_F(GenerateCommandTest, EverythingOfAPromptFile) {
  std::ofstream("prompts.jsonl")
      << "plain one\n{\"prompt\": \"wide\", \"aspect\": \"4:3\", \"output\": \"wide.jpg\"}\n"
         "{\"prompt\": \"last\", \"seed\": 3}\n";
  const CommandOutcome run =
      Generate({"--prompts", "prompts.jsonl", "-o", "pictures/", "-s", "10", "-b", "2", "--grid", "grid.webp",
                "--report", "report.json", "--save-bits", "bits.safetensors", "--preview", "previews"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_EQ(ReadImage("pictures/0000-10.png")->width, 32);
  EXPECT_EQ(ReadImage("pictures/0002-3.png")->width, 32);
  EXPECT_EQ(ReadImage("wide.jpg")->width, 40);
  EXPECT_GT(ReadImage("grid.webp")->width, 80);
  EXPECT_EQ(ReadImage("previews/0001-scale02.png")->width, 8);  // map 3x4
  EXPECT_TRUE(fs::exists("bits-0002.safetensors"));

  const nlohmann::json report = Json("report.json");
  EXPECT_EQ(report["pictures"].size(), 3u);
  EXPECT_EQ(report["pictures"][1],
            nlohmann::json({{"file", "pictures/0002-3.png"}, {"seed", 3}, {"prompt", "last"}}));
  EXPECT_EQ(report["scales"].size(), 14u);  // two batches of 7
  for (const char* key :
       {"scale", "map", "tokens", "seconds", "kv_bytes", "kv_tokens", "selection_seconds", "pruned"})
    EXPECT_TRUE(report["scales"][6].contains(key)) << key;
  EXPECT_EQ(report["scales"][3]["kv_tokens"], nlohmann::json({57, 57, 57, 57}));  // 1 + 4 + 16 + 36 a layer
  for (const char* key : {"load", "text", "transformer", "vae", "write"})
    EXPECT_GT(report["seconds"][key], 0.0) << key;
  for (const char* account : {"weights", "kv", "text_kv", "prune", "activations", "scratch"})
    EXPECT_EQ(report["memory"]["accounts"][account]["by_scale"].size(), 14u) << account;
  EXPECT_GT(report["memory"]["peak_resident"], 0);
  EXPECT_GT(report["memory"]["planned_peak"], 0);
  EXPECT_EQ(report["settings"]["prompt"], "plain one");
}

TEST_F(GenerateCommandTest, ThePlanLoadsAndWritesNothing) {
  const CommandOutcome plan = Generate({"-p", "x", "--plan", "-o", "a.png"});
  EXPECT_EQ(plan.exit_status, 0);
  for (const char* word :
       {"weights", "kv", "activations", "text", "transformer", "vae", "peak", "seconds", "GFLOP/s"})
    EXPECT_THAT(plan.out, HasSubstr(word));
  EXPECT_TRUE(fs::is_empty("."));
}

TEST_F(GenerateCommandTest, AMemoryLimitNamesSettingsThatFit) {
  const CommandOutcome small = Generate(
      {"-p", "x", "--size", "128x128", "--count", "8", "-b", "8", "-o", "%d.png", "--memory-limit", "100M"});
  EXPECT_EQ(small.exit_status, 1);
  EXPECT_THAT(small.err, StartsWith("error: this needs "));
  EXPECT_THAT(small.err, HasSubstr("--batch 1"));
  EXPECT_EQ(Generate({"-p", "x", "--memory-limit", "1M"}).exit_status, 1);
  EXPECT_EQ(Generate({"-p", "x", "--memory-limit", "lots"}).exit_status, 2);
  EXPECT_TRUE(fs::is_empty("."));
}

TEST_F(GenerateCommandTest, ACachePolicyHoldsItsBudgetAndIsInTheSettings) {
  const CommandOutcome run = Generate(
      {"-p", "x", "-o", "a.png", "--kv", "sliding-window", "--kv-budget", "20", "--report", "r.json"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const nlohmann::json report = nlohmann::json::parse(std::ifstream("r.json"));
  EXPECT_EQ(report["scales"][3]["kv_tokens"], nlohmann::json({20, 20, 20, 20}));
  const int64_t token = 2 * 2 * 48 * 4;  // two streams, keys and values of 48 f32
  EXPECT_EQ(report["scales"][3]["layer_kv_bytes"], nlohmann::json(std::vector<int64_t>(4, 20 * token)));
  EXPECT_EQ(report["scales"][3]["full_kv_bytes"], 4 * 57 * token);
  EXPECT_EQ(report["memory"]["full_kv_peak"], 4 * 265 * token);
  EXPECT_EQ(report["scales"][6]["full_kv_bytes"], 4 * 265 * token);  // nothing is stored of the last map
  EXPECT_EQ(report["scales"][1]["selection_seconds"], 0.0);          // 1 + 4 tokens are within the budget
  EXPECT_GT(report["scales"][3]["selection_seconds"], 0.0);
  EXPECT_FALSE(report["scales"][3].contains("roles"));
  EXPECT_THAT(run.err,
              HasSubstr("KV cache: at most 60.0 KiB, 7.5% of the full cache's 795.0 KiB; selection"));
  const CommandOutcome settings = RunCommand({"metadata", "a.png", "--command"});
  EXPECT_THAT(settings.out, HasSubstr("--kv sliding-window"));
  EXPECT_THAT(settings.out, HasSubstr("--kv-budget 20"));
}

TEST(KvText, TellsThePeakByRole) {
  std::vector<ScaleReport> scales(2);
  scales[0] = {.selection_seconds = 0.25,
               .kv_bytes = 3 << 20,
               .full_kv_bytes = 4 << 20,
               .layer_kv_bytes = {1 << 20, 2 << 20},
               .drafters = {false, true}};
  scales[1] = {.selection_seconds = 0.5, .kv_bytes = 2 << 20, .full_kv_bytes = 12 << 20};
  EXPECT_EQ(
      KvText(scales),
      "KV cache: at most 3.0 MiB, 25.0% of the full cache's 12.0 MiB; drafters 2.0 MiB, refiners 1.0 MiB; "
      "selection 0.75 s");
  scales[0].kv_bytes = 12 << 20;
  EXPECT_EQ(KvText(scales), "");
  EXPECT_EQ(KvText({}), "");
}

TEST_F(GenerateCommandTest, PruningIsReportedDrawnAndInTheSettings) {
  const CommandOutcome run = Generate(
      {"-p", "x", "-o", "a.png", "--prune-ratios", "4=0.5,6=1", "--prune-layers", "1-2", "--report", "r.json",
       "--preview", "p", "--kept", "--save-bits", "a.safetensors", "--kv", "snapkv", "--kv-budget", "30%"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("scale 6/6"));
  const nlohmann::json scales = Json("r.json")["scales"];
  ASSERT_EQ(scales.size(), 6u);
  EXPECT_TRUE(scales[3]["pruned"].empty());
  ASSERT_EQ(scales[4]["pruned"].size(), 2u);
  EXPECT_EQ(scales[4]["pruned"][1]["layer"], 2);
  EXPECT_EQ(scales[4]["pruned"][1]["feed_forward"], 32);  // half of 8x8
  for (const char* file : {"p/0000-scale04.png", "p/0000-scale04-kept.png", "p/0000-scale05.png"})
    EXPECT_TRUE(fs::exists(file)) << file;
  EXPECT_FALSE(fs::exists("p/0000-scale05-kept.png"));
  EXPECT_FALSE(fs::exists("p/0000-scale06.png"));

  const std::string settings = RunCommand({"metadata", "a.png", "--command"}).out;
  EXPECT_THAT(settings, HasSubstr("--prune-ratios 4=0.5,6=1"));
  EXPECT_THAT(settings, HasSubstr("--prune-layers 1-2"));

  const auto bits = ReadBitsFile("a.safetensors").value();
  ASSERT_EQ(bits.size(), 7u);
  EXPECT_TRUE(bits[6].empty());
  EXPECT_EQ(bits[6].shape(), Shape({0, 16, 16}));
  ASSERT_EQ(Generate({"-p", "x", "-o", "same.png", "--from-bits", "a.safetensors", "--prune-ratios",
                      "4=0.5,6=1", "--prune-layers", "1-2"})
                .exit_status,
            0);
  EXPECT_EQ(Pixels("same.png"), Pixels("a.png"));
  EXPECT_THAT(Generate({"-p", "x", "-o", "b.png", "--from-bits", "a.safetensors"}).err,
              HasSubstr("the bits of scale 6"));
  ASSERT_EQ(RunCommand({"reconstruct", "a.safetensors", "-o", "r.png", "--vae", Golden("models/c/vae.pth"),
                        "--type", "f32"})
                .exit_status,
            0);
  EXPECT_EQ(Pixels("r.png"), Pixels("a.png"));
}

TEST_F(GenerateCommandTest, WrongCallsExitWith2AndLeaveNothing) {
  const std::vector<std::vector<std::string>> wrong = {{"-p", "x", "--bogus"},
                                                       {"-p", "x", "-p", "y", "-o", "a.png"},
                                                       {"-p", "x", "-o", "a.gif"},
                                                       {"-p", "x", "-o", "nowhere/a.png"},
                                                       {"-p", "x", "--grid", "picture.png"},
                                                       {"-p", "x", "--from-bits", "none"},
                                                       {"-p", "x", "--type", "int8"},
                                                       {"-p", "x", "--kv", "lru"},
                                                       {"--prompts", "none"},
                                                       {}};
  for (const auto& arguments : wrong) {
    const CommandOutcome outcome = Generate(arguments);
    EXPECT_EQ(outcome.exit_status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error: "));
  }
  EXPECT_EQ(RunCommand({"generate", "-p", "x", "-m", "none"}).exit_status, 2);
  EXPECT_TRUE(fs::is_empty("."));
}

TEST_F(GenerateCommandTest, LongPromptsAreCutAndThatIsSaid) {
  std::string words;
  for (int i = 0; i < 600; ++i) words += "apple ";
  const CommandOutcome run = Generate({"-p", words, "-o", "a.png"});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cut to the 64 tokens"));
  EXPECT_EQ(Generate({"-p", words, "-o", "a.png", "--quiet"}).err, "");
}

TEST_F(GenerateCommandTest, LogLinesAreJson) {
  const CommandOutcome run = Generate({"-p", "x", "-o", "a.png", "--log-json"});
  std::istringstream lines(run.err);
  int scales = 0;
  for (std::string line; std::getline(lines, line);)
    scales += nlohmann::json::parse(line).contains("progress");
  EXPECT_EQ(scales, 7);
}

TEST(CommandLine, CommandsOfLaterVersionsSaySo) {
  for (const char* command : {"serve"}) {
    const CommandOutcome outcome = RunCommand({command, "--port", "80", "x"});
    EXPECT_EQ(outcome.exit_status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("is not in this version yet"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  }
}

TEST(CommandLine, HelpAndVersion) {
  for (const char* command : {"generate", "calibrate", "metadata", "completion", "inspect", "convert",
                              "parity", "tokenize", "reconstruct", "eval"}) {
    const CommandOutcome help = RunCommand({command, "--help"});
    EXPECT_EQ(help.exit_status, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Example: ")) << command;
  }
  const CommandOutcome version = RunCommand({"--version"});
  EXPECT_EQ(version.exit_status, 0);
  for (const char* line : {"nextscale ", "commit: ", "oneDNN", "processor: "})
    EXPECT_THAT(version.out, HasSubstr(line));
  EXPECT_EQ(RunCommand({"bogus"}).exit_status, 2);
  EXPECT_EQ(RunCommand({"--quiet"}).exit_status, 2);
  EXPECT_EQ(RunCommand({}).exit_status, 0);
}

// What bash offers after the words typed so far, the last one being completed.
std::string Completed(const std::string& script, const std::string& words, int at) {
  const std::string path = Temporary("completion.sh");
  std::ofstream(path) << script << "\nCOMP_WORDS=(" << words << ")\nCOMP_CWORD=" << at
                      << "\n_nextscale\necho \"${COMPREPLY[*]}\"\n";
  std::string out;
  std::FILE* pipe = popen(("bash " + path + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe)) out += buffer;
  EXPECT_EQ(pclose(pipe), 0) << out;
  return out;
}

TEST(CommandLine, CompletionKnowsCommandsAndFlags) {
  const std::string bash = RunCommand({"completion", "bash"}).out;
  EXPECT_EQ(Completed(bash, "nextscale gen", 1), "generate\n");
  EXPECT_EQ(Completed(bash, "nextscale generate --keep", 2), "--keep-scales\n");
  EXPECT_EQ(Completed(bash, "nextscale metadata a.png --com", 3), "--command\n");
  EXPECT_EQ(Completed(bash, "nextscale generate pic", 2), "\n");  // files, by bash's own default
  EXPECT_THAT(RunCommand({"completion", "zsh"}).out, StartsWith("#compdef nextscale\n"));
  EXPECT_EQ(RunCommand({"completion", "fish"}).exit_status, 2);
}

}  // namespace
}  // namespace nextscale
