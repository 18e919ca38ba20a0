// EXIF comments: our own, those of other writers, and broken blocks.
#include "metrics/exif.h"

#include <gmock/gmock.h>

#include <random>

namespace nextscale {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

std::span<const std::byte> AsBytes(const std::string& s) { return std::as_bytes(std::span(s)); }

// A little-endian block with one UserComment.
std::string LittleEndianBlock(std::string_view comment) {
  std::string out(
      "II*\0\x08\0\0\0"
      "\x01\0\x69\x87\x04\0\x01\0\0\0\x1a\0\0\0"
      "\0\0\0\0"
      "\x01\0\x86\x92\x07\0",
      32);
  out.push_back(static_cast<char>(comment.size()));
  out += std::string("\0\0\0\x2c\0\0\0\0\0\0\0", 11);
  return out += comment;
}

TEST(Exif, CommentStartsWithTheParametersInBigEndianUtf16) {
  const std::string block = BuildExif({{"parameters", "h\u00e9"}, {"nextscale", "{}"}});
  EXPECT_THAT(block.substr(block.find("UNICODE")),
              StartsWith(std::string("UNICODE\0\0h\0\xe9\0,\0 \0n", 18)));
}

TEST(Exif, TheJsonIsAFieldOfTheLastLine) {
  EXPECT_EQ(JoinComment({{"parameters", "p\nSteps: 7, Seed: 1"}, {"nextscale", "{\"a\": \"b\\n\"}\n"}}),
            "p\nSteps: 7, Seed: 1, nextscale: \"{\\\"a\\\": \\\"b\\\\n\\\"}\\n\"");
}

TEST(Exif, PromptsThatLookLikeTheFieldComeBack) {
  for (const std::string prompt :
       {", nextscale: \"", "a, nextscale: \"x\", b", "nextscale: \"y\"", "\", nextscale: \\\"\"", ""}) {
    for (const std::string json : {"{}", "{\"p\": \", nextscale: \\\"z\\\"\"}", "\"", "\\", ""}) {
      const ImageText text = {{"parameters", prompt}, {"nextscale", json}};
      EXPECT_EQ(ParseExif(AsBytes(BuildExif(text))), text) << prompt << " | " << json;
    }
  }
}

TEST(Exif, ReadsWhatOthersWrite) {
  const auto read = [](std::string_view comment) {
    return ParseExif(AsBytes(LittleEndianBlock(comment)))["parameters"];
  };
  EXPECT_EQ(read(std::string_view("UNICODE\0\0r\0e\0d", 14)), "red");
  EXPECT_EQ(read(std::string_view("UNICODE\0r\0e\0d\0", 14)), "red");
  EXPECT_EQ(read(std::string_view("UNICODE\0\xff\xfer\0", 12)), "r");
  EXPECT_EQ(read(std::string_view("ASCII\0\0\0red\0", 12)), "red");
  EXPECT_EQ(read(std::string_view("\0\0\0\0\0\0\0\0red", 11)), "red");
}

TEST(Exif, BrokenBlocksHaveNoText) {
  EXPECT_THAT(ParseExif({}), IsEmpty());
  EXPECT_THAT(ParseExif(AsBytes("Exif")), IsEmpty());
  const std::string whole = BuildExif({{"parameters", "red"}});
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_THAT(ParseExif(AsBytes(whole.substr(0, n))), IsEmpty()) << n;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = whole;
    for (int k = 0; k < 1 + i % 4; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    (void)ParseExif(AsBytes(changed));
  }
}

}  // namespace
}  // namespace nextscale
