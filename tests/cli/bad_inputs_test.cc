// The program under bad calls and broken files: it says in a few lines what is wrong, exits with the status
// that the contract names, and leaves nothing behind. Built with the sanitizers, any misstep on the way shows
// too.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "bad_input.h"
#include "broken_files.h"

namespace nextscale {

namespace fs = std::filesystem;
using testing::AnyOfArray;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

void PrintTo(const BadInput& input, std::ostream* out) {
  *out << "nextscale";
  constexpr size_t kShown = 80;
  for (const std::string& argument : input.arguments) *out << " " << argument.substr(0, kShown);
}

namespace {

constexpr std::chrono::seconds kTimeLimit(60);

struct Outcome {
  bool in_time = false;
  int wait_status = 0;
  std::string err;
};

// In the child, after fork: nothing but system calls.
[[noreturn]] void Exec(const std::vector<char*>& argv, const char* out, const char* err,
                       int64_t largest_file) {
  if (largest_file > 0) {
    signal(SIGXFSZ, SIG_IGN);  // writing beyond the limit is then an error, as on a full disk
    const rlimit limit{static_cast<rlim_t>(largest_file), static_cast<rlim_t>(largest_file)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

Outcome RunProgram(std::vector<std::string> arguments, const std::string& log, int64_t largest_file = 0,
                   const std::string& output = "") {
  arguments.insert(arguments.begin(), {NEXTSCALE_PROGRAM, "--threads", "2"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string out = output.empty() ? log + ".out" : output, err = log + ".err";
  const pid_t child = fork();
  if (child == 0) Exec(argv, out.c_str(), err.c_str(), largest_file);

  Outcome outcome;
  const auto end = std::chrono::steady_clock::now() + kTimeLimit;
  while (!outcome.in_time && std::chrono::steady_clock::now() < end) {
    outcome.in_time = waitpid(child, &outcome.wait_status, WNOHANG) == child;
    if (!outcome.in_time) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!outcome.in_time) {
    kill(child, SIGKILL);
    waitpid(child, &outcome.wait_status, 0);
  }
  outcome.err = ReadBytes(err);
  return outcome;
}

std::string Root() { return testing::TempDir() + "bad_inputs-" + std::to_string(getpid()) + "/"; }

class BaseFiles : public testing::Environment {
 public:
  void SetUp() override {
    fs::create_directories(Root() + "base");
    const Parts c{Golden("models/c/transformer.pth"), Golden("models/c/vae.pth"), Golden("models/t5-a")};
    Run({"convert", "--transformer", c.transformer, "--vae", c.vae, "--text-encoder", c.text, "--type", "f32",
         "--trained-pixels", "0.06M", "-o", Base("model.safetensors")});
    WriteBytes(Base("prompts.jsonl"), "{\"prompt\": \"a\", \"output\": \"" + Base("picture.png") +
                                          "\"}\n{\"prompt\": \"b\", \"output\": \"" + Base("picture.jpg") +
                                          "\"}\n{\"prompt\": \"c\", \"output\": \"" + Base("picture.webp") +
                                          "\"}\n");
    Run({"generate", "-m", Base("model.safetensors"), "--type", "f32", "--cfg", "1", "-b", "3", "-s", "1",
         "--prompts", Base("prompts.jsonl")});
    Run({"tokenize", Base("picture.png"), "--vae", c.vae, "-o", Base("bits.safetensors")});
  }
  void TearDown() override { fs::remove_all(Root()); }

 private:
  static void Run(const std::vector<std::string>& arguments) {
    const Outcome outcome = RunProgram(arguments, Root() + "log");
    ASSERT_TRUE(outcome.in_time && outcome.wait_status == 0) << outcome.err;
  }
};

const testing::Environment* const kBaseFiles = testing::AddGlobalTestEnvironment(new BaseFiles);

std::set<std::string> FilesHere() {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(".")) files.insert(entry.path().string());
  return files;
}

// "error: …", then at most one line why and one what to try.
void ExpectErrorForm(const std::string& err) {
  EXPECT_THAT(err, MatchesRegex("error: [^\n]+\n(  why: [^\n]+\n)?(  try: [^\n]+\n)?"));
}

class BadInputsTest : public testing::TestWithParam<BadInput> {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::create_directories(Root() + "case");
    fs::current_path(Root() + "case");
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(Root() + "case");
  }

 private:
  fs::path before_;
};

TEST_P(BadInputsTest, SaysWhatIsWrongAndLeavesNothing) {
  const BadInput& input = GetParam();
  if (input.make) input.make();
  const std::set<std::string> before = FilesHere();
  std::vector<std::string> arguments = input.arguments;
  const bool works = input.exit_statuses == std::vector<int>{0};  // then a notice may be what it says
  if (!works) arguments.insert(arguments.begin(), "--quiet");
  const Outcome outcome = RunProgram(arguments, Root() + "log", input.largest_file, input.output);
  ASSERT_TRUE(outcome.in_time) << "killed after " << kTimeLimit.count() << " s\n" << outcome.err;
  ASSERT_TRUE(WIFEXITED(outcome.wait_status)) << "signal " << WTERMSIG(outcome.wait_status) << "\n"
                                              << outcome.err;
  const int exit_status = WEXITSTATUS(outcome.wait_status);
  EXPECT_THAT(exit_status, AnyOfArray(input.exit_statuses)) << outcome.err;
  for (const char* misstep :
       {"AddressSanitizer", "LeakSanitizer", "runtime error", "check failed", "terminate called"})
    EXPECT_THAT(outcome.err, Not(HasSubstr(misstep)));
  EXPECT_THAT(outcome.err, HasSubstr(input.says));
  const std::set<std::string> after = FilesHere();
  if (exit_status != 0) {
    ExpectErrorForm(outcome.err);
    EXPECT_EQ(after, before) << "files were left\n" << outcome.err;
  }
  EXPECT_FALSE(fs::exists("pwned")) << "a pickle was executed";
  for (const std::string& file : after) EXPECT_THAT(file, Not(HasSubstr(".nextscale-")));
}

std::string NameOf(const testing::TestParamInfo<BadInput>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Calls, BadInputsTest, testing::ValuesIn(BadCalls()), NameOf);
INSTANTIATE_TEST_SUITE_P(Places, BadInputsTest, testing::ValuesIn(BadPlaces()), NameOf);
INSTANTIATE_TEST_SUITE_P(Prompts, BadInputsTest, testing::ValuesIn(BadPrompts()), NameOf);
INSTANTIATE_TEST_SUITE_P(Damage, BadInputsTest, testing::ValuesIn(DamagedFiles()), NameOf);
INSTANTIATE_TEST_SUITE_P(Checkpoints, BadInputsTest, testing::ValuesIn(BadCheckpoints()), NameOf);
INSTANTIATE_TEST_SUITE_P(Pickles, BadInputsTest, testing::ValuesIn(HostilePickles()), NameOf);
INSTANTIATE_TEST_SUITE_P(Numbers, BadInputsTest, testing::ValuesIn(BadNumbers()), NameOf);
INSTANTIATE_TEST_SUITE_P(Pictures, BadInputsTest, testing::ValuesIn(BadPictures()), NameOf);

}  // namespace

std::string Base(const std::string& name) { return Root() + "base/" + name; }
std::string Golden(const std::string& name) {
  return std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/" + name;
}

namespace {

// `generate`, the model, `more`, and small f32 work where `more` asks for nothing else.
std::vector<std::string> Generate(std::vector<std::string> model, const std::vector<std::string>& more) {
  const auto has = [&](const char* flag) { return std::find(more.begin(), more.end(), flag) != more.end(); };
  std::vector<std::string> all = {"generate"};
  all.insert(all.end(), model.begin(), model.end());
  if (!has("--size") && !has("--pixels")) all.insert(all.end(), {"--pixels", "0.06M"});
  if (!has("--type")) all.insert(all.end(), {"--type", "f32"});
  if (!has("--cfg")) all.insert(all.end(), {"--cfg", "1"});
  if (!has("-o")) all.insert(all.end(), {"-o", "out.png"});
  if (!has("-p") && !has("--prompts") && !has("--no-prompt")) all.insert(all.end(), {"-p", "x"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::vector<std::string> GenerateWith(const std::string& package, std::vector<std::string> more) {
  return Generate({"-m", package}, more);
}

std::vector<std::string> GenerateParts(const Parts& parts, std::vector<std::string> more) {
  const auto or_else = [](const std::string& path, const char* golden) {
    return path.empty() ? Golden(golden) : path;
  };
  return Generate(
      {"--transformer", or_else(parts.transformer, "models/c/transformer.pth"), "--vae",
       or_else(parts.vae, "models/c/vae.pth"), "--text-encoder", or_else(parts.text, "models/t5-a")},
      more);
}

std::vector<std::string> GenerateC(std::vector<std::string> more) {
  return GenerateParts({}, std::move(more));
}

}  // namespace nextscale
