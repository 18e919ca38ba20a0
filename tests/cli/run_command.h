// Calls a command as the program does.
#pragma once

#include <gtest/gtest.h>

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

}  // namespace nextscale
