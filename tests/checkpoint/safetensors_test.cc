// safetensors files, made up here: what the format allows, and each way in which a header can lie.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/files.h"

namespace nextscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace nextscale::testing;

StatusOr<StoredFile> ReadBytes(const TempFolder& folder, const std::string& bytes) {
  return ReadSafetensors(folder.Write("m.safetensors", bytes));
}

TEST(Safetensors, TypesShapesAndMetadata) {
  const TempFolder folder;
  const auto file =
      ReadBytes(folder, Safetensors(R"({"__metadata__":{"format":"pt","nextscale":"{}"},)"
                                    R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]},)"
                                    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                    R"("n":{"dtype":"I64","shape":[1],"data_offsets":[12,20]},)"
                                    R"("e":{"dtype":"F16","shape":[0,7],"data_offsets":[20,20]},)"
                                    R"("s":{"dtype":"F64","shape":[],"data_offsets":[20,28]}}   )",
                                    BytesOf(std::vector<float>{1, -2}) +
                                        BytesOf(std::vector<uint16_t>{0x3f80, 0x4000}) + Little<int64_t>(5) +
                                        Little(0.25)));
  ASSERT_TRUE(file.ok()) << ErrorText(file.status());
  EXPECT_EQ(file->metadata, "{}");
  const auto source = *StoredTensors::Create("test", file->tensors);
  ASSERT_EQ(source->List().size(), 5u);
  std::vector<float> two(2);
  ASSERT_TRUE(source->ReadRows(*source->Find("a"), 0, 2, DType::kF32, two.data()).ok());
  EXPECT_THAT(two, ElementsAre(1, -2));
  ASSERT_TRUE(source->ReadRows(*source->Find("b"), 0, 2, DType::kF32, two.data()).ok());
  EXPECT_THAT(two, ElementsAre(1, 2));
  int64_t five = 0;
  ASSERT_TRUE(source->ReadRows(*source->Find("n"), 0, 1, DType::kI64, &five).ok());
  EXPECT_EQ(five, 5);
  float quarter = 0;
  ASSERT_TRUE(source->ReadRows(*source->Find("s"), 0, 1, DType::kF32, &quarter).ok());
  EXPECT_EQ(quarter, 0.25f);
  const Status status = source->ReadRows(*source->Find("n"), 0, 1, DType::kF32, two.data());
  EXPECT_THAT(ErrorText(status), HasSubstr("tensor n is of type i64"));
}

TEST(Safetensors, MissingAndMisshapenTensorsAreNamed) {
  const TempFolder folder;
  const auto file = ReadBytes(folder, TinySafetensors({"a"}));
  const auto source = *StoredTensors::Create("m.safetensors", file->tensors);
  EXPECT_TRUE(FindTensor(*source, "a", {-1}).ok());
  EXPECT_THAT(ErrorText(FindTensor(*source, "b", {2, -1}).status()),
              ::testing::AllOf(HasSubstr("m.safetensors: tensor b is missing"), HasSubstr("[2, any]")));
  EXPECT_THAT(ErrorText(ReadTensor(*source, "a", {3}, DType::kF32, {}).status()),
              ::testing::AllOf(HasSubstr("tensor a has shape [1]"), HasSubstr("expected [3]")));
}

TEST(Safetensors, HeadersThatLie) {
  struct Case {
    std::string header, expected;
  };
  const auto one = [](const std::string& fields) { return "{\"w\":{" + fields + "}}"; };
  const std::vector<Case> cases = {
      {"", "not JSON"},
      {"[]", "not a JSON object"},
      {"3", "not a JSON object"},
      {"{", "not JSON"},
      {R"({"w":3})", "w"},
      {R"({"w":{}})", "tensor w has no dtype"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "not JSON"},
      {one(R"("dtype":"F32","shape":[1])"), "tensor w has no dtype"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "tensor w has 4 bytes"},
      {one(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"), "F8_E4M3"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), "tensor w lies"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "tensor w lies"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), "the file holds 4"},
      {one(R"("dtype":"F32","shape":[0],"data_offsets":[0,0])"), "the file holds 4"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), "tensor w has no dtype"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"), "more than two"},
      {one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "negative"},
      {one(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), "fraction"},
      {one(R"("dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4])"), "fraction"},
      {one(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])"), "impossible shape"},
      {one(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4])"), "impossible shape"},
      {one(R"("dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4])"), "impossible shape"},
      {one(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"), "has a list"},
      {one(R"("dtype":"F32","shape":{},"data_offsets":[0,4])"), "has an object"},
      {one(R"("dtype":7,"shape":[1],"data_offsets":[0,4])"), "has a number"},
      {one(R"("dtype":null,"shape":[1],"data_offsets":[0,4])"), "has null"},
      {one(R"("dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4])"), "shape twice"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"more":"x")"), "unknown field"},
      {R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "twice"},
      {R"({"v":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "tensor w lies"},
      {R"({"v":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "tensor w lies"},
      {R"({"__metadata__":{"nextscale":5}})", "has a number"},
      {R"({"__metadata__":"x"})", "has a text"},
      {std::string(50000, '['), "not a JSON object"},
      {R"({"w":)" + std::string(50000, '['), "has a list"},
      {"{\"\xff\":{}}", "not JSON"},
  };
  const TempFolder folder;
  for (const Case& c : cases) {
    const auto file = ReadBytes(folder, Safetensors(c.header, "1234"));
    ASSERT_FALSE(file.ok()) << c.header;
    EXPECT_EQ(ExitCode(file.status()), 1) << c.header;
    EXPECT_THAT(ErrorText(file.status()), HasSubstr("m.safetensors"));
    EXPECT_THAT(ErrorText(file.status()), HasSubstr(c.expected)) << c.header.substr(0, 100);
  }
  for (const uint64_t length : {uint64_t{3}, uint64_t{100'000'001}, ~uint64_t{0}, ~uint64_t{7}})
    EXPECT_FALSE(ReadBytes(folder, Little(length) + "{}").ok());
}

TEST(Safetensors, EveryCutAndEveryChangedByte) {
  const TempFolder folder;
  const std::string bytes = TinySafetensors({"blocks.0.a", "b"});
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto cut = ReadBytes(folder, bytes.substr(0, n));
    ASSERT_FALSE(cut.ok()) << "cut at " << n;
    EXPECT_EQ(ExitCode(cut.status()), 1);
  }
  for (size_t n = 0; n < bytes.size(); ++n) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[n] = static_cast<char>(changed[n] ^ (1 << bit));
      const auto file = ReadBytes(folder, changed);
      EXPECT_TRUE(file.ok() || ExitCode(file.status()) == 1);
    }
  }
}

}  // namespace
}  // namespace nextscale
