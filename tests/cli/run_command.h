// Calls a command as the program does.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace nextscale {

struct CommandOutcome {
  int exit_status = 0;
  std::string out, err;
};

inline CommandOutcome RunCommand(const std::vector<std::string>& args) {
  std::vector<const char*> argv = {"nextscale"};
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandOutcome result;
  result.exit_status = RunCommandLine(static_cast<int>(argv.size()), argv.data());
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

inline std::string Golden(const std::string& path) {
  return std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/" + path;
}

// A path in the test's own temporary folder.
inline std::string Temporary(const std::string& name) {
  return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + name;
}

// Each test works in a folder of its own.
class InOwnFolder : public testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    const std::filesystem::path folder = Temporary("folder");
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::current_path(folder);
  }
  void TearDown() override { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

// A command with golden model c in f32.
inline std::vector<std::string> WithModelC(const std::string& command) {
  return {command,
          "--transformer",
          Golden("models/c/transformer.pth"),
          "--vae",
          Golden("models/c/vae.pth"),
          "--text-encoder",
          Golden("models/t5-a"),
          "--type",
          "f32"};
}

}  // namespace nextscale
