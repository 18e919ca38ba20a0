// A model has one fingerprint, in whatever form its weights are stored.
#include "calibration/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/package.h"
#include "tests/checkpoint/files.h"

namespace nextscale {
namespace {

const std::string kGolden = std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/models/";

std::string Fingerprint(const ModelPaths& paths) {
  const StatusOr<ModelFiles> files = OpenModel(paths);
  if (!files.ok()) return ErrorText(files.status());
  const StatusOr<std::string> print = ModelFingerprint(*files->transformer);
  return print.ok() ? *print : ErrorText(print.status());
}

TEST(Fingerprint, IsTheSameForPublishedFilesAndPackagesInF32AndBf16) {
  const testing::TempFolder folder;
  std::set<std::string> prints;
  // .pth in f32, nested in bf16, with odd pickles, sharded safetensors of both types.
  for (const std::string model : {"a", "b", "c", "d", "e"}) {
    SCOPED_TRACE(model);
    const std::string published = Fingerprint({.model = kGolden + model});
    EXPECT_EQ(published.size(), 64u) << published;
    prints.insert(published);
    const StatusOr<ModelFiles> files = OpenModel({.model = kGolden + model});
    ASSERT_TRUE(files.ok()) << ErrorText(files.status());
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const std::string package = folder.path(model + std::string(Name(dtype)) + ".safetensors");
      const PackageOptions options{.transformer = dtype, .vae = dtype, .text = dtype};
      ASSERT_TRUE(WritePackage(*files, options, package).ok());
      EXPECT_EQ(Fingerprint({.model = package}), published) << Name(dtype);
    }
  }
  EXPECT_EQ(prints.size(), 5u);
}

}  // namespace
}  // namespace nextscale
