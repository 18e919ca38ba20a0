#include "base/status.h"

#include <gtest/gtest.h>

namespace nextscale {
namespace {

TEST(Status, ErrorTextHasTheThreeLines) {
  EXPECT_EQ(ErrorText(CallError("no file a.pth", "it does not exist", "check the path")),
            "error: no file a.pth\n  why: it does not exist\n  try: check the path\n");
}

TEST(Status, ExitCodesFollowTheContract) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(WorkError("x")), 1);
  EXPECT_EQ(ExitCode(FileError("x")), 1);
  EXPECT_EQ(ExitCode(CallError("x")), 2);
  EXPECT_EQ(ExitCode(NotYet("x")), 2);
  EXPECT_EQ(ExitCode(Interrupted()), 130);
}

}  // namespace
}  // namespace nextscale
