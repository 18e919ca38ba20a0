// The autoencoder against the golden models: the latents that the generations ended with -> their images,
// pictures -> features.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/model_files.h"
#include "checkpoint/safetensors.h"
#include "model/vae/vae.h"

namespace nextscale {
namespace {

const std::string kGolden = NEXTSCALE_SOURCE_DIR "/tests/golden/";

template <typename T>
T Value(StatusOr<T> value) {
  NS_CHECK(value.ok(), "{}", ErrorText(value.status()));
  return std::move(value).value();
}

std::shared_ptr<const TensorSource> Expected(const std::string& name) {
  StoredFile file = Value(ReadSafetensors(kGolden + name + "/expected.safetensors"));
  return Value(StoredTensors::Create(file.path, std::move(file.tensors)));
}

std::unique_ptr<Vae> Model(const std::string& name, DType dtype, const OpContext& ctx) {
  const ModelFiles files = Value(OpenModel({.vae = kGolden + "models/" + name + "/vae.pth"}));
  NS_CHECK(files.vae != nullptr, "no autoencoder in {}", name);
  return Value(Vae::Load(*files.vae, dtype, VaeParts::kBoth, ctx));
}

Tensor Floats(const TensorSource& source, const std::string& name) {
  return Value(ReadTensor(source, name, Shape({-1, -1, -1, -1}), DType::kF32, {}));
}

// Element i of a batch [B, ...].
ConstView Item(const Tensor& batch, int64_t i) {
  return batch.view().Rows(i, 1).Reshape({batch.dim(1), batch.dim(2), batch.dim(3)});
}

struct Worst {
  double difference = 0;  // of the largest value
  int64_t at = 0;
};
Worst Compare(ConstView got, ConstView expected) {
  NS_CHECK(got.shape() == expected.shape(), "{} {}", ToString(got.shape()), ToString(expected.shape()));
  double largest = 0;
  Worst worst;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double difference =
        std::fabs(static_cast<double>(got.data<float>()[i]) - expected.data<float>()[i]);
    if (!(difference <= worst.difference)) worst = {std::isnan(difference) ? HUGE_VAL : difference, i};
    largest = std::max<double>(largest, std::fabs(expected.data<float>()[i]));
  }
  return {worst.difference / largest, worst.at};
}

// Bytes that differ by more than one, where a value sits on a step.
int64_t WrongBytes(ConstView image_3HW, const uint8_t* pixels_HW3) {
  const int64_t n = image_3HW.dim(1) * image_3HW.dim(2);
  int64_t wrong = 0;
  for (int64_t i = 0; i < 3 * n; ++i) {
    const float value = image_3HW.data<float>()[(i % 3) * n + i / 3];
    wrong += std::abs(static_cast<int>((value + 1) / 2 * 255) - pixels_HW3[i]) > 1;
  }
  return wrong;
}

struct Case {
  const char* name;
  const char* model;
  const char* pixels;
};
const Case kDecoded[] = {
    {"vae-encode", "a", "reconstruction"},
    {"full-1to1-7scales-b1", "a", "pixels"},
    {"full-nonsquare-b2-neg", "b", "pixels"},
    {"full-unguided", "c", "pixels"},
    {"full-options", "c", "pixels"},
    {"full-13scales", "c", "pixels"},
    {"patchify", "d", "pixels"},
};

// The last scale's sum is what was decoded.
std::string LastSum(const TensorSource& source) {
  std::string last;
  for (const TensorInfo* info : source.List()) {
    if (info->name.ends_with(".summed")) last = info->name;
  }
  return last;
}

void CheckDecode(const Case& c, Backend backend) {
  const OpContext ctx(backend);
  const auto expected = Expected(c.name);
  const auto vae = Model(c.model, DType::kF32, ctx);
  const Tensor latents = Floats(*expected, LastSum(*expected)), images = Floats(*expected, "image");
  const TensorInfo* bytes = expected->Find(c.pixels);
  const Tensor pixels = Value(ReadTensor(*expected, c.pixels, bytes->shape, DType::kU8, {}));
  for (int64_t b = 0; b < latents.dim(0); ++b) {
    Tensor image(DType::kF32, Item(images, b).shape(), {});
    ASSERT_TRUE(vae->Decode(Item(latents, b), image.view(), ctx).ok());
    const Worst worst = Compare(image.view(), Item(images, b));
    // The golden files' own tolerance; f32 in another order of summation shows 4e-6.
    EXPECT_LE(worst.difference, 2e-4) << c.name << " image " << b << " at " << worst.at;
    EXPECT_EQ(WrongBytes(image.view(), pixels.data<uint8_t>() + b * image.elements()), 0) << c.name;
  }
}

TEST(VaeGolden, Decodes) {
  for (const Case& c : kDecoded) CheckDecode(c, Backend::kFast);
}

TEST(VaeGolden, ScalarTwinDecodes) { CheckDecode(kDecoded[3], Backend::kReference); }

TEST(VaeGolden, EncodesOnBothBackends) {
  for (const auto& [name, model] : {std::pair("vae-encode", "a"), std::pair("vae-encode-patchify", "d")}) {
    const auto source = Expected(name);
    const Tensor pixels = Value(ReadTensor(*source, "pixels", Shape({-1, -1, 3}), DType::kU8, {}));
    const Tensor expected = Floats(*source, "features");
    const int64_t h = pixels.dim(0), w = pixels.dim(1);
    Tensor image(DType::kF32, {3, h, w}, {});
    for (int64_t i = 0; i < image.elements(); ++i) {
      image.data<float>()[(i % 3) * h * w + i / 3] =
          2 * (static_cast<float>(pixels.data<uint8_t>()[i]) / 255) - 1;
    }
    for (const Backend backend : {Backend::kFast, Backend::kReference}) {
      const OpContext ctx(backend);
      Tensor features(DType::kF32, Item(expected, 0).shape(), {});
      ASSERT_TRUE(Model(model, DType::kF32, ctx)->Encode(image.view(), features.view(), ctx).ok());
      const Worst worst = Compare(features.view(), Item(expected, 0));
      // The golden files' own tolerance; a one-pass variance would show 2e-3.
      EXPECT_LE(worst.difference, 5e-5) << name << " at " << worst.at;
    }
  }
}

// In bf16 pictures stay what they are: on average a third of a step of 255, the largest 6.
TEST(VaeGolden, Bf16DecodesToNearlyTheSameBytes) {
  const OpContext ctx;
  const auto expected = Expected("full-1to1-7scales-b1");
  const Tensor latent = Floats(*expected, "scale06.summed"), images = Floats(*expected, "image");
  Tensor image(DType::kF32, Item(images, 0).shape(), {});
  ASSERT_TRUE(Model("a", DType::kBF16, ctx)->Decode(Item(latent, 0), image.view(), ctx).ok());
  double sum = 0;
  for (int64_t i = 0; i < image.elements(); ++i)
    sum += std::fabs(image.data<float>()[i] - images.data<float>()[i]);
  EXPECT_LE(255.0 / 2 * sum / static_cast<double>(image.elements()), 1.0);
  EXPECT_LE(Compare(image.view(), Item(images, 0)).difference, 0.1);
}

}  // namespace
}  // namespace nextscale
