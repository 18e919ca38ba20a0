#include "cli/output_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace nextscale {
namespace {

namespace fs = std::filesystem;

class OutputPlacesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  std::string In(const std::string& name) const { return (folder_ / name).string(); }
  void Touch(const std::string& name) const { std::ofstream(In(name)) << "x"; }
  fs::path folder_;
};

TEST_F(OutputPlacesTest, NumbersReplaceThePercent) {
  EXPECT_EQ(NumberedPath("a%d.png", 7, 10, 1).value(), "a7.png");
  EXPECT_EQ(NumberedPath("a%04d-x.png", 7, 10, 1).value(), "a0007-x.png");
  EXPECT_EQ(NumberedPath("a%02d.png", 123, 200, 1).value(), "a123.png");
  EXPECT_EQ(NumberedPath("a%d.png", 0, 1, 1).value(), "a0.png");
  EXPECT_EQ(NumberedPath("a.png", 0, 1, 1).value(), "a.png");
  EXPECT_EQ(PathWithNumber("d/a.b.safetensors", 3), "d/a.b-0003.safetensors");
}

TEST_F(OutputPlacesTest, AFolderGetsOwnNames) {
  EXPECT_EQ(NumberedPath(folder_.string(), 3, 9, 77).value(), In("0003-77.png"));
  EXPECT_EQ(NumberedPath("new/", 3, 9, 77).value(), "new/0003-77.png");
}

TEST_F(OutputPlacesTest, OnePlainNameForSeveralIsRefused) {
  const Status status = NumberedPath("d/a.png", 0, 2, 1).status();
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_NE(status.message().find("d/a-%04d.png"), absl::string_view::npos);
  for (const char* bad : {"a%.png", "a%s.png", "a%d%d.png", "a%", "a%4d.png", "a%099d.png", ""})
    EXPECT_FALSE(NumberedPath(bad, 0, 2, 1).ok()) << bad;
}

TEST_F(OutputPlacesTest, UsablePlacesPassAndLeaveNothing) {
  EXPECT_TRUE(
      CheckOutputs({.pictures = {In("a.png"), In("b.JPG"), In("c.webp")}, .others = {In("r.json")}}).ok());
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_TRUE(CheckOutputs({.pictures = {In("new/sub/a.png")}, .new_folders = {In("new/sub")}}).ok());
}

TEST_F(OutputPlacesTest, UnusablePlacesAreRefusedBeforeWork) {
  EXPECT_EQ(ExitCode(CheckOutputs({.pictures = {In("a.gif")}})), 2);
  EXPECT_EQ(ExitCode(CheckOutputs({.pictures = {In("nowhere/a.png")}})), 2);
  EXPECT_EQ(ExitCode(CheckOutputs({.others = {folder_.string()}})), 2);
  EXPECT_EQ(ExitCode(CheckOutputs({.others = {"/proc/a.json"}})), 1);
  Touch("file");
  EXPECT_EQ(ExitCode(CheckOutputs({.new_folders = {In("file")}})), 1);
}

TEST_F(OutputPlacesTest, TwoResultsOfOneNameAreRefused) {
  EXPECT_EQ(ExitCode(CheckOutputs({.pictures = {In("a.png"), In("x/../a.png")}})), 2);
  EXPECT_EQ(ExitCode(CheckOutputs({.pictures = {In("a.png")}, .others = {In("a.png")}})), 2);
}

TEST_F(OutputPlacesTest, InputsAreNeverReplaced) {
  Touch("model.safetensors");
  fs::create_symlink(In("model.safetensors"), In("link"));
  EXPECT_EQ(ExitCode(CheckOutputs({.others = {In("link")}, .inputs = {In("model.safetensors")}})), 2);
  EXPECT_EQ(ExitCode(CheckOutputs({.others = {In("model.safetensors")}, .inputs = {folder_.string()}})), 2);
  EXPECT_TRUE(CheckOutputs({.others = {In("new.json")}, .inputs = {folder_.string(), ""}}).ok());
  Touch("old.png");  // pictures beside a model are no part of it
  EXPECT_TRUE(CheckOutputs({.pictures = {In("old.png")}, .inputs = {folder_.string()}}).ok());
}

}  // namespace
}  // namespace nextscale
