#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "base/mapped_file.h"

namespace nextscale {
namespace {

using ::testing::HasSubstr;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/nextscale_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  int64_t Files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::string folder_;
};

TEST_F(AtomicFileTest, WritesAnyBytesAndReplaces) {
  const std::string bytes("\0\xff\n", 3);
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("a"), bytes).ok());
  EXPECT_EQ(ReadSmallFile(Path("a")).value(), bytes);
  EXPECT_EQ(Files(), 1);
}

TEST_F(AtomicFileTest, AFailedWriteLeavesTheOldFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};  // what a full disk does: a part is written, then an error
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = WriteFileAtomically(Path("a"), std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(ExitCode(status), 1);
  EXPECT_THAT(ErrorText(status), HasSubstr("File too large"));
  EXPECT_EQ(ReadSmallFile(Path("a")).value(), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(AtomicFileTest, AFileThatIsNotCommittedVanishes) {
  auto file = AtomicFile::Create(Path("a"), 3);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Write(std::as_bytes(std::span("abc", 3))).ok());
  file->reset();
  EXPECT_EQ(Files(), 0);
}

TEST_F(AtomicFileTest, SaysWhyItCannot) {
  const Status none = WriteFileAtomically(Path("none/a"), "x");
  EXPECT_EQ(ExitCode(none), 2);
  EXPECT_THAT(ErrorText(none), HasSubstr("create the folder first"));
  EXPECT_THAT(ErrorText(WriteFileAtomically(folder_, "x")), HasSubstr("it is a folder"));
  EXPECT_THAT(ErrorText(AtomicFile::Create(Path("a"), int64_t{1} << 60).status()), HasSubstr("GiB are free"));
  EXPECT_EQ(Files(), 0);
}

}  // namespace
}  // namespace nextscale
