// The tokenizer against ids that Python's sentencepiece gives (golden case T5-long-prompt), and against
// broken input.
#include "model/text/tokenizer.h"

#include <gmock/gmock.h>

#include "base/mapped_file.h"

namespace nextscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string& ModelBytes() {
  static const std::string bytes =
      ReadSmallFile(NEXTSCALE_SOURCE_DIR "/tests/golden/models/t5-a/spiece.model").value();
  return bytes;
}
const Tokenizer& GoldenTokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = Tokenizer::FromBytes(ModelBytes(), "t5-a").value();
  return *tokenizer;
}
std::vector<int32_t> Ids(std::string_view prompt) {
  return GoldenTokenizer().Encode(prompt, 512).value().ids;
}

TEST(Tokenizer, GivesTheIdsOfTheReference) {
  EXPECT_EQ(GoldenTokenizer().vocabulary(), 500);
  EXPECT_THAT(Ids("grinning face, noto style"), ElementsAre(135, 151, 18, 3, 9, 7, 4, 1));
  EXPECT_THAT(Ids("red  heart ,  twemoji\tstyle\n"), ElementsAre(123, 8, 47, 15, 3, 12, 10, 13, 4, 1));
  EXPECT_THAT(Ids("\u4e2d\u6587\u63d0\u793a, \u043f\u0440\u0438\u0432\u0435\u0442 \U0001f600 cat"),
              ElementsAre(15, 2, 3, 15, 2, 15, 2, 94, 1));
  EXPECT_THAT(Ids("\u200bzero\u200bwidth \u00a0hard space\u2003em"),
              ElementsAre(187, 26, 7, 67, 25, 8, 172, 72, 40, 8, 33, 41, 22, 130, 15, 17, 34, 1));
  EXPECT_THAT(Ids(std::string_view("a cat\0dog", 9)), ElementsAre(106, 94, 2, 8, 7, 44, 1));
}

TEST(Tokenizer, ControlPiecesInAPromptAreText) {
  EXPECT_THAT(Ids("a </s> <unk>"), ElementsAre(106, 15, 2, 19, 2, 15, 2, 31, 30, 55, 2, 1));
}

TEST(Tokenizer, AnEmptyPromptIsTheEndAlone) {
  EXPECT_THAT(Ids(""), ElementsAre(1));
  EXPECT_THAT(Ids(" \n\t"), ElementsAre(1));
}

TEST(Tokenizer, CutsAtTheLimitAndKeepsTheEnd) {
  const auto whole = GoldenTokenizer().Encode("grinning face, noto style", 8).value();
  EXPECT_FALSE(whole.cut);
  EXPECT_EQ(whole.ids.size(), 8u);
  const auto cut = GoldenTokenizer().Encode("grinning face, noto style", 7).value();
  EXPECT_TRUE(cut.cut);
  EXPECT_THAT(cut.ids, ElementsAre(135, 151, 18, 3, 9, 7, 1));
  EXPECT_THAT(GoldenTokenizer().Encode("grinning", 1).value().ids, ElementsAre(1));
}

TEST(Tokenizer, InvalidUtf8IsAnErrorThatNamesTheByte) {
  const Status status = GoldenTokenizer().Encode("red \xff heart", 512).status();
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_THAT(ErrorText(status), HasSubstr("byte 0xff at offset 4"));
}

TEST(Tokenizer, RefusesWhatIsNoModel) {
  for (const std::string& bytes : {std::string(), std::string("not a model"), ModelBytes().substr(0, 1000),
                                   ModelBytes().substr(0, ModelBytes().size() - 1)}) {
    const Status status = Tokenizer::FromBytes(bytes, "dir/spiece.model").status();
    EXPECT_EQ(ExitCode(status), 1);
    EXPECT_THAT(ErrorText(status), HasSubstr("dir/spiece.model"));
  }
}

// The table's values are places in its texts, its units places of others. The library follows them unchecked.
TEST(Tokenizer, RefusesANormalisationTableThatPointsOutsideItself) {
  const std::string folder = NEXTSCALE_SOURCE_DIR "/tests/fuzz/corpus/tokenizer/";
  const std::string good = ReadSmallFile(folder + "map").value();
  EXPECT_TRUE(Tokenizer::FromBytes(good, "map").ok());
  const Status value =
      Tokenizer::FromBytes(ReadSmallFile(folder + "value-past-the-texts").value(), "spiece.model").status();
  EXPECT_EQ(ExitCode(value), 1);
  EXPECT_THAT(ErrorText(value), HasSubstr("normalisation table"));
  std::string far = good;  // the root's offset: 2^29 units on
  const size_t root = far.find(std::string("\x00\x04\x00\x00", 4)) + 4;
  far.replace(root, 4, "\x00\xfe\xff\x7f", 4);
  EXPECT_THAT(ErrorText(Tokenizer::FromBytes(far, "spiece.model").status()),
              HasSubstr("normalisation table"));
}

}  // namespace
}  // namespace nextscale
