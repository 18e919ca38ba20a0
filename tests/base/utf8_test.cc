#include "base/utf8.h"

#include <gtest/gtest.h>

namespace nextscale {
namespace {

constexpr size_t kValid = std::string_view::npos;

TEST(Utf8, AcceptsAllLengths) {
  EXPECT_EQ(FirstInvalidUtf8(""), kValid);
  EXPECT_EQ(
      FirstInvalidUtf8(
          "a\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"),
      kValid);
  EXPECT_EQ(FirstInvalidUtf8(std::string_view("a\0b", 3)), kValid);
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(FirstInvalidUtf8("ab\x80"), 2u);              // continuation without a lead
  EXPECT_EQ(FirstInvalidUtf8("a\xc3"), 1u);               // cut
  EXPECT_EQ(FirstInvalidUtf8("\xe4\xb8z"), 0u);           // continuation missing
  EXPECT_EQ(FirstInvalidUtf8("ok\xc0\xaf"), 2u);          // overlong, 2 bytes
  EXPECT_EQ(FirstInvalidUtf8("ok\xe0\x9f\xbf"), 2u);      // overlong, 3
  EXPECT_EQ(FirstInvalidUtf8("ok\xf0\x8f\xbf\xbf"), 2u);  // overlong, 4
  EXPECT_EQ(FirstInvalidUtf8("\xed\xa0\x80"), 0u);        // surrogate
  EXPECT_EQ(FirstInvalidUtf8("\xf4\x90\x80\x80"), 0u);    // above 10FFFF
  EXPECT_EQ(FirstInvalidUtf8("\xff"), 0u);
  EXPECT_EQ(FirstInvalidUtf8("\xf8\x88\x80\x80\x80"), 0u);
}

TEST(Utf8, CodePointsThereAndBack) {
  const std::string text = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80";
  const std::u32string points = CodePoints(text);
  EXPECT_EQ(points, U"a\u00e9\u4e2d\U0001f600");
  std::string back;
  for (const char32_t c : points) AppendUtf8(c, back);
  EXPECT_EQ(back, text);
}

TEST(Utf8, WhatIsNoCharacterBecomesTheReplacement) {
  std::string out;
  AppendUtf8(0xd800, out);
  AppendUtf8(0x110000, out);
  EXPECT_EQ(out, "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace nextscale
