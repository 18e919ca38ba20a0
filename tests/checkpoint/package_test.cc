// Packages: what was put in comes out, in the types that were asked for; a package is there whole or not at
// all.
#include "checkpoint/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/checkpoint/files.h"

namespace nextscale {
namespace {

using ::testing::HasSubstr;
using namespace nextscale::testing;

const std::string kGolden = std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/models/";

StatusOr<ModelFiles> Golden(const std::string& model, const std::string& text) {
  return OpenModel({.model = kGolden + model, .text_encoder = kGolden + text});
}

std::vector<float> Values(const TensorSource& source, const TensorInfo& info, DType through) {
  const Tensor read = *ReadTensor(source, info.name, info.shape, through, {});
  std::vector<float> out(static_cast<size_t>(read.elements()));
  ConvertFloats(read.view().raw(), through, out.data(), DType::kF32, read.elements());
  return out;
}

void ExpectSame(const TensorSource& from, const TensorSource& to, DType matrices) {
  ASSERT_EQ(from.List().size(), to.List().size());
  for (const TensorInfo* info : from.List()) {
    const TensorInfo* found = to.Find(info->name);
    ASSERT_NE(found, nullptr) << info->name;
    EXPECT_EQ(found->shape, info->shape) << info->name;
    const bool matrix = info->shape.rank() > 1 && info->shape[0] > 1;
    EXPECT_EQ(found->dtype, matrix ? matrices : DType::kF32) << info->name;
    EXPECT_EQ(Values(to, *found, DType::kF32), Values(from, *info, matrix ? matrices : DType::kF32))
        << info->name;
  }
}

TEST(Package, HoldsWhatWasPutIn) {
  const TempFolder folder;
  for (const auto& [model, text] : {std::pair("c", "t5-a"), std::pair("d", "t5-b")}) {
    auto files = Golden(model, text);
    ASSERT_TRUE(files.ok()) << ErrorText(files.status());
    files->plan = R"({"plan": 1})";
    files->options["trained_pixels"] = "0.25M";
    files->options["preset.cfg"] = "3";
    const std::string path = folder.path("model.safetensors");
    int64_t done = 0, total = 0;
    PackageOptions options = {.transformer = DType::kBF16, .vae = DType::kF32, .text = DType::kBF16};
    options.progress = [&](int64_t d, int64_t t) {
      EXPECT_GT(d, done);
      done = d, total = t;
    };
    const Status status = WritePackage(*files, options, path);
    ASSERT_TRUE(status.ok()) << ErrorText(status);
    EXPECT_EQ(done, total);
    EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(path)), total);

    const auto package = OpenModel({.model = path});
    ASSERT_TRUE(package.ok()) << ErrorText(package.status());
    ExpectSame(*files->transformer, *package->transformer, DType::kBF16);
    ExpectSame(*files->vae, *package->vae, DType::kF32);
    ExpectSame(*files->text, *package->text, DType::kBF16);
    EXPECT_EQ(package->tokenizer, files->tokenizer);
    EXPECT_EQ(package->plan, files->plan);
    ASSERT_EQ(package->options.size(), files->options.size());
    for (const auto& [name, option] : package->options) {
      EXPECT_EQ(option.value, files->options.at(name).value) << name;
      EXPECT_EQ(option.file, path);
    }
    EXPECT_EQ(package->name, model);
    EXPECT_TRUE(package->notes.empty());
  }
}

TEST(Package, InputsAreNeverOverwritten) {
  const TempFolder folder;
  const auto files = Golden("a", "t5-a");
  const std::string path = folder.path("a.safetensors");
  ASSERT_TRUE(WritePackage(*files, {}, path).ok());
  const std::string before = ReadAll(path);
  const auto package = OpenModel({.model = path});
  std::filesystem::create_symlink(path, folder.path("link"));
  for (const std::string& target :
       {path,
        folder.path("../") + folder.path().substr(folder.path().rfind('/', folder.path().size() - 2)) +
            "/a.safetensors",
        folder.path("link")}) {
    const Status status = WritePackage(*package, {}, target);
    EXPECT_EQ(ExitCode(status), 2);
    EXPECT_THAT(ErrorText(status), HasSubstr("one of the files to read"));
  }
  EXPECT_EQ(ReadAll(path), before);
  // Another package may be replaced.
  EXPECT_TRUE(WritePackage(*files, {.text = DType::kF32}, folder.path("b.safetensors")).ok());
  EXPECT_TRUE(WritePackage(*files, {}, folder.path("b.safetensors")).ok());
  EXPECT_EQ(ReadAll(folder.path("b.safetensors")), before);
}

TEST(Package, AFailedWriteLeavesNothing) {
  const TempFolder folder;
  const auto files = Golden("a", "t5-a");
  EXPECT_EQ(ExitCode(WritePackage(*files, {}, folder.path("nowhere/p.safetensors"))), 2);
  EXPECT_EQ(ExitCode(WritePackage(*files, {}, folder.path())), 2);
  EXPECT_EQ(ExitCode(WritePackage(*files, {.vae = DType::kF16}, folder.path("p.safetensors"))), 2);
  EXPECT_EQ(ExitCode(WritePackage({}, {}, folder.path("p.safetensors"))), 2);

  const std::string path = folder.Write("p.safetensors", "the old one");
  // The file may not grow beyond 1 MB: as a full disk does, the write fails in the middle.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {1 << 20, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status status = WritePackage(*files, {}, path);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(ExitCode(status), 1);
  EXPECT_THAT(ErrorText(status), HasSubstr("p.safetensors"));
  EXPECT_EQ(ReadAll(path), "the old one");
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) entries += entry.exists();
  EXPECT_EQ(entries, 1u);
}

std::string PackageWith(const std::string& metadata, const std::string& tensors = "",
                        const std::string& data = "") {
  std::string quoted;
  for (char c : metadata) quoted += c == '"' ? "\\\"" : std::string(1, c);
  return Safetensors(R"({"__metadata__":{"nextscale":")" + quoted + "\"}" + tensors + "}", data);
}

TEST(Package, MetadataThatIsNotAsStated) {
  const TempFolder folder;
  const auto error = [&](const std::string& bytes) {
    return ErrorText(OpenModel({.model = folder.Write("p.safetensors", bytes)}).status());
  };
  EXPECT_TRUE(OpenModel({.model = folder.Write("p.safetensors", PackageWith(R"({"version":1})"))}).ok());
  EXPECT_THAT(error(PackageWith("[]")), HasSubstr("not a JSON object"));
  EXPECT_THAT(error(PackageWith("{")), HasSubstr("not a JSON object"));
  EXPECT_THAT(error(PackageWith("{}")), HasSubstr("no version"));
  EXPECT_THAT(error(PackageWith(R"({"version":"1"})")), HasSubstr("no version"));
  EXPECT_THAT(error(PackageWith(R"({"version":2})")), HasSubstr("version 2"));
  EXPECT_THAT(error(PackageWith(R"({"version":1,"options":[]})")), HasSubstr("options is not an object"));
  EXPECT_THAT(error(PackageWith(R"({"version":1,"options":{"a":1}})")),
              HasSubstr("options a is not a string"));
  EXPECT_THAT(
      error(PackageWith(R"({"version":1})",
                        R"(,"tokenizer.spiece":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "1234")),
      HasSubstr("tokenizer.spiece is of type f32"));
}

}  // namespace
}  // namespace nextscale
