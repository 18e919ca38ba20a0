// Pictures there and back in the three formats, the forms others write, and broken or hostile files.
#include "metrics/image_io.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/mapped_file.h"
#include "metrics/codecs.h"
#include "metrics/psnr.h"
#include "pictures.h"
#include "tensor/memory.h"

namespace nextscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder of its own for each test.
class ImageIo : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/nextscale_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Store(const std::string& name, std::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  int64_t Files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::string folder_;
};

// Smooth colours with a few sharp edges; no row or column repeats another.
Image TestPicture(int64_t width, int64_t height) {
  Image image{width, height, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const int64_t box = x > width / 3 && y > height / 2 ? 40 : 0;
      for (const int64_t v : {3 * x + y, 255 - 2 * y, x + 5 * y + box})
        image.rgb.push_back(static_cast<uint8_t>(std::clamp<int64_t>(v, 0, 255)));
    }
  }
  return image;
}

const char* const kEndings[] = {"png", "jpg", "webp"};

TEST(FormatOfPath, ByEndingInAnyCase) {
  EXPECT_EQ(FormatOfPath("a/b.PNG").value(), ImageFormat::kPng);
  EXPECT_EQ(FormatOfPath("b.Jpeg").value(), ImageFormat::kJpeg);
  EXPECT_EQ(FormatOfPath("b.jpg").value(), ImageFormat::kJpeg);
  EXPECT_EQ(FormatOfPath("x.png.webp").value(), ImageFormat::kWebp);
  for (const char* path : {"", "png", "a.gif", "a.png/"}) {
    EXPECT_EQ(ExitCode(FormatOfPath(path).status()), 2) << path;
    EXPECT_THAT(ErrorText(FormatOfPath(path).status()), HasSubstr(".png, .jpg, .jpeg, .webp"));
  }
}

TEST_F(ImageIo, LosslessFormatsGiveTheBytesBack) {
  for (const char* ending : {"png", "webp"}) {
    for (const auto& [w, h] : {std::pair{1, 1}, {3, 2}, {17, 33}, {64, 5}}) {
      const Image image = TestPicture(w, h);
      const std::string path = Path(std::string("a.") + ending);
      ASSERT_TRUE(WriteImage(path, image, {}).ok());
      const Image back = ReadImage(path).value();
      EXPECT_EQ(back.width, w);
      EXPECT_EQ(back.height, h);
      EXPECT_EQ(back.rgb, image.rgb) << ending << " " << w << "x" << h;
    }
  }
}

TEST_F(ImageIo, JpegIsNear) {
  const Image image = TestPicture(61, 47);
  ASSERT_TRUE(WriteImage(Path("a.jpg"), image, {}).ok());
  // Quality 95 leaves quantisation steps of about 2 on smooth colours: an error near 1, 48 dB; edges cost
  // some. With halved chroma this picture stays below 37 dB.
  EXPECT_GT(Psnr(ReadImage(Path("a.jpg")).value(), image), 40);
}

TEST_F(ImageIo, TextComesBackFromEveryFormat) {
  const std::string json = R"({"prompt": "a \"red\" \\ caf)"
                           "\u00e9 \U0001f600"
                           R"(, nextscale: x", "n": [1, 2]})";
  const ImageText texts[] = {
      {{"parameters", "a red heart\nNegative prompt: blur\nSteps: 13, CFG scale: 3, Seed: 7"},
       {"nextscale", json}},
      {{"parameters", "caf\u00e9, latin"}, {"nextscale", "{}"}},
      {{"parameters", "\u4e2d\u6587 \U0001f600\r\n\ttab"}, {"nextscale", json}},
      {{"nextscale", json}},
      {{"parameters", "alone"}},
      {},
  };
  for (const char* ending : kEndings) {
    for (const ImageText& text : texts) {
      const std::string path = Path(std::string("t.") + ending);
      ASSERT_TRUE(WriteImage(path, TestPicture(9, 7), text).ok());
      EXPECT_EQ(ReadImageText(path).value(), text) << ending;
      EXPECT_EQ(ReadImage(path).value().width, 9);
    }
  }
}

TEST_F(ImageIo, TextThatFitsNoFileIsAnError) {
  EXPECT_EQ(ExitCode(WriteImage(Path("a.png"), TestPicture(2, 2), {{"parameters", "\xff"}})), 2);
  EXPECT_EQ(ExitCode(WriteImage(Path("a.png"), TestPicture(2, 2), {{"parameters", std::string("a\0b", 3)}})),
            2);
  const ImageText long_text = {{"parameters", std::string(40000, 'x')}};
  const Status status = WriteImage(Path("a.jpg"), TestPicture(2, 2), long_text);
  EXPECT_EQ(ExitCode(status), 1);
  EXPECT_THAT(ErrorText(status), HasSubstr("write PNG or WebP"));
  EXPECT_EQ(Files(), 0);
  EXPECT_TRUE(WriteImage(Path("a.png"), TestPicture(2, 2), long_text).ok());
  EXPECT_EQ(ReadImageText(Path("a.png")).value(), long_text);
  EXPECT_TRUE(WriteImage(Path("a.webp"), TestPicture(2, 2), long_text).ok());
  EXPECT_EQ(ReadImageText(Path("a.webp")).value(), long_text);
}

TEST_F(ImageIo, TooWideForTheFormatIsAnError) {
  Image image{16384, 1, std::vector<uint8_t>(16384 * 3)};
  EXPECT_THAT(ErrorText(WriteImage(Path("a.webp"), image, {})), HasSubstr("16383"));
  EXPECT_TRUE(WriteImage(Path("a.png"), image, {}).ok());
  image = {65501, 1, std::vector<uint8_t>(65501 * 3)};
  EXPECT_THAT(ErrorText(WriteImage(Path("a.jpg"), image, {})), HasSubstr("65500"));
  EXPECT_EQ(Files(), 1);
}

TEST_F(ImageIo, OtherFormsBecomeRgb) {
  const auto read = [&](std::string_view hex) {
    return ReadImage(Store("p.png", pictures::Bytes(hex))).value().rgb;
  };
  // 16 bit to 8 is v / 257, rounded.
  EXPECT_THAT(read(pictures::kGrey16), ElementsAre(0, 0, 0, 255, 255, 255, 128, 128, 128, 18, 18, 18));
  // Green of alpha 128 on white: 255 * 127/255 = 127.
  EXPECT_THAT(read(pictures::kPalette2), ElementsAre(255, 0, 0, 127, 255, 127, 0, 0, 255));
  EXPECT_THAT(read(pictures::kRgba), ElementsAre(10, 20, 30, 255, 255, 255));
  EXPECT_THAT(read(pictures::kRgbaWebp), ElementsAre(10, 20, 30, 255, 255, 255));
  std::vector<uint8_t> expected;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x)
      expected.insert(expected.end(), {uint8_t(10 * x), uint8_t(10 * y), uint8_t(x + y)});
  }
  EXPECT_EQ(read(pictures::kInterlaced), expected);
  EXPECT_EQ(read(pictures::kGreyJpeg), std::vector<uint8_t>(8 * 8 * 3, 78));
}

TEST_F(ImageIo, WhatIsNotReadIsAnErrorThatSaysSo) {
  const auto error = [&](std::string_view bytes) {
    const Status status = ReadImage(Store("picture", bytes)).status();
    EXPECT_EQ(ExitCode(status), 1);
    EXPECT_THAT(ErrorText(status), HasSubstr(Path("picture")));
    return ErrorText(status);
  };
  EXPECT_THAT(error(pictures::Bytes(pictures::kCmykJpeg)), HasSubstr("CMYK"));
  EXPECT_THAT(error(pictures::Bytes(pictures::kAnimatedWebp)), HasSubstr("animation"));
  EXPECT_THAT(error("GIF89a"), HasSubstr("expected PNG, JPEG or WebP"));
  EXPECT_THAT(error(""), HasSubstr("expected PNG, JPEG or WebP"));
  EXPECT_EQ(ExitCode(ReadImage(Path("none.png")).status()), 2);
  EXPECT_EQ(ExitCode(ReadImage(folder_).status()), 1);
}

TEST_F(ImageIo, TextBehindThePixelsIsFound) {
  const std::string path = Store("p.png", pictures::Bytes(pictures::kTextAfterPixels));
  EXPECT_EQ(ReadImageText(path).value(), (ImageText{{"parameters", "caf\u00e9"}}));
}

TEST_F(ImageIo, AClaimedSizeTakesNoMemory) {
  // IHDR with its checksum for 65535 x 65535 and 100000 x 1; no pixels.
  const std::string head = pictures::Bytes("89504e470d0a1a0a0000000d49484452");
  EXPECT_THAT(
      ErrorText(ReadImage(Store("a.png", head + pictures::Bytes("0000ffff0000ffff080200000039674e070000000049"
                                                                "44415435af061e0000000049454e44ae426082")))
                    .status()),
      HasSubstr("65535x65535"));
  EXPECT_FALSE(
      ReadImage(
          Store(
              "a.png",
              head +
                  pictures::Bytes(
                      "000186a0000000010802000000d21c8182000000004944415435af061e0000000049454e44ae426082")))
          .ok());
  EXPECT_LT(PeakResidentBytes(), int64_t{2} << 30);
}

// Every shorter file of each format is an error, and none of a changed byte does harm (under the sanitizers).
template <typename Encode, typename Decode, typename Text>
void CutAndChange(Encode encode, Decode decode, Text text) {
  const ImageText settings = {{"parameters", "red"}, {"nextscale", "{\"a\": 1}"}};
  const std::string whole = encode(TestPicture(20, 13), settings, "a").value();
  const auto bytes = [](const std::string& s) { return std::as_bytes(std::span(s)); };
  ASSERT_TRUE(decode(bytes(whole), "a").ok());
  for (size_t n = 12; n < whole.size(); ++n) {
    const std::string cut = whole.substr(0, n);
    EXPECT_FALSE(decode(bytes(cut), "a").ok()) << n << " of " << whole.size();
    (void)text(bytes(cut), "a");
  }
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = whole;
    for (int k = 0; k < 1 + i % 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    (void)decode(bytes(changed), "a");
    (void)text(bytes(changed), "a");
  }
}
TEST(BrokenPictures, CutAndChangedPng) { CutAndChange(EncodePng, DecodePng, PngText); }
TEST(BrokenPictures, CutAndChangedJpeg) { CutAndChange(EncodeJpeg, DecodeJpeg, JpegText); }
TEST(BrokenPictures, CutAndChangedWebp) { CutAndChange(EncodeWebp, DecodeWebp, WebpText); }

TEST_F(ImageIo, WritingGivesTheSystemsReason) {
  const Image image = TestPicture(4, 4);
  EXPECT_THAT(ErrorText(WriteImage(Path("none/a.png"), image, {})), HasSubstr("create the folder first"));
  Store("file", "x");
  EXPECT_THAT(ErrorText(WriteImage(Path("file/a.png"), image, {})), HasSubstr("Not a directory"));
  std::filesystem::create_directory(Path("folder.png"));
  EXPECT_THAT(ErrorText(WriteImage(Path("folder.png"), image, {})), HasSubstr("it is a folder"));
  const Status status = WriteImage(Path(std::string(300, 'n') + ".png"), image, {});
  EXPECT_THAT(ErrorText(status), HasSubstr("File name too long"));
  EXPECT_EQ(ExitCode(status), 1);
  EXPECT_EQ(Files(), 2);
}

}  // namespace
}  // namespace nextscale
