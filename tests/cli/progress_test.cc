#include "cli/progress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace nextscale {
namespace {

std::string Shown(Progress::Form form) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress(form, file);
    progress.Notice("odd \"text\"\x1b\n\xff");
    progress.Step("scale", 1, 2, "4x4", {{"map", {4, 4}}});
    progress.Step("scale", 2, 2, "6x6", {{"map", {6, 6}}});
  }
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Progress, PlainLines) {
  EXPECT_EQ(Shown(Progress::Form::kLines), "odd \"text\"  \xff\nscale 1/2 4x4\nscale 2/2 6x6\n");
}

TEST(Progress, QuietSaysNothing) { EXPECT_EQ(Shown(Progress::Form::kQuiet), ""); }

TEST(Progress, JsonIsOneObjectALine) {
  std::istringstream lines(Shown(Progress::Form::kJson));
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_TRUE(objects[0].contains("notice"));
  EXPECT_EQ(objects[1]["progress"], "scale");
  EXPECT_EQ(objects[1]["done"], 1);
  EXPECT_EQ(objects[2]["map"], nlohmann::json({6, 6}));
}

TEST(Progress, ABarEndsItsLine) {
  const std::string text = Shown(Progress::Form::kBar);
  EXPECT_NE(text.find("\r"), std::string::npos);
  EXPECT_NE(text.find("[############............] scale 1/2 4x4"), std::string::npos);
  EXPECT_TRUE(text.ends_with("2/2 6x6\n"));
}

}  // namespace
}  // namespace nextscale
