// Ctrl-C on the program itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metrics/image_io.h"
#include "run_command.h"

namespace nextscale {
namespace {

namespace fs = std::filesystem;

// `nextscale generate`, or another command, as a process whose standard output is read line by line.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments, const std::string& command = "generate") {
    const std::vector<std::string> model = WithModelC(command);
    arguments.insert(arguments.begin(), model.begin(), model.end());
    arguments.insert(arguments.begin(), NEXTSCALE_PROGRAM);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(ends[1]);
    lines_ = fdopen(ends[0], "r");
  }
  ~Program() { std::fclose(lines_); }

  // The next line that holds `what`; empty at the end of the output.
  std::string WaitFor(const std::string& what) {
    char line[4096];
    while (std::fgets(line, sizeof line, lines_)) {
      if (std::string(line).find(what) != std::string::npos) return line;
    }
    return "";
  }
  void Send(int signal) const { kill(process_, signal); }
  int ExitStatus() {
    while (!WaitFor("\n").empty()) {
    }
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
  std::FILE* lines_ = nullptr;
};

TEST(Interrupt, FinishedPicturesStayAndTheStatusIs130) {
  const fs::path folder = Temporary("pictures");
  fs::remove_all(folder);
  const std::string report = Temporary("report.json");
  Program program({"-p", "x", "--pixels", "0.06M", "--count", "5000", "-s", "1", "-o", folder.string() + "/",
                   "--report", report});
  ASSERT_NE(program.WaitFor("seed 1 "), "");
  program.Send(SIGINT);
  EXPECT_EQ(program.ExitStatus(), 130);
  int pictures = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_TRUE(ReadImage(entry.path().string()).ok()) << entry.path();
    ++pictures;
  }
  EXPECT_GE(pictures, 1);
  EXPECT_LT(pictures, 5000);
  EXPECT_TRUE(fs::exists(report));
}

TEST(Interrupt, EvalTellsOfTheBatchesThatAreWhole) {
  const std::string report = Temporary("report.json");
  fs::remove(report);
  Program program(
      {"-p", "x", "--pixels", "0.06M", "--count", "5000", "-s", "1", "--kv", "snapkv", "--report", report},
      "eval");
  ASSERT_NE(program.WaitFor("picture 4/10000"), "");  // two pictures by two settings
  program.Send(SIGINT);
  EXPECT_NE(program.WaitFor("| snapkv 10% "), "");
  EXPECT_EQ(program.ExitStatus(), 130);
  std::ifstream file(report);
  const nlohmann::json json = nlohmann::json::parse(file);
  const size_t made = json["pictures"].size();
  EXPECT_GE(made, 2u);
  EXPECT_LT(made, 5000u);
  for (const auto& result : json["results"]) EXPECT_EQ(result["psnr"]["values"].size(), made);
}

// A whole picture by the plain scalar ops takes minutes; the end must come within a layer.
TEST(Interrupt, WorkStopsWithinAPicture) {
  const std::string path = Temporary("picture.png");
  Program program({"-p", "x", "--pixels", "1M", "--reference", "-o", path});
  ASSERT_NE(program.WaitFor("scale 3/13"), "");
  program.Send(SIGINT);
  EXPECT_EQ(program.ExitStatus(), 130);
  EXPECT_FALSE(fs::exists(path));
}

TEST(Interrupt, ASecondOneQuitsAtOnce) {
  Program program({"-p", "x", "--pixels", "1M", "--reference", "-o", Temporary("picture.png")});
  ASSERT_NE(program.WaitFor("scale 9/13"), "");
  program.Send(SIGINT);
  usleep(20000);  // two of a signal at once are one
  program.Send(SIGINT);
  EXPECT_EQ(program.ExitStatus(), 130);
}

}  // namespace
}  // namespace nextscale
