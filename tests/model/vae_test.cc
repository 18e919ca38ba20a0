// The autoencoder on small random weights: what it reads off its tensors, both backends, memory, cancelling
// and broken numbers.
#include "model/vae/vae.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "random_vae.h"

namespace nextscale {
namespace {

using testing::HasSubstr;

const VaeConfig kSmall = {.bits = 6, .base_channels = 24, .multipliers = {1, 2, 4}, .decoder_res_blocks = 3};
const VaeConfig kPublished = {
    .bits = 32, .base_channels = 128, .multipliers = {1, 2, 4, 4, 4}, .decoder_res_blocks = 3};

Tensor Random(const Shape& shape) {
  Tensor tensor(DType::kF32, shape, {});
  std::minstd_rand generator(9);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] = uniform(generator);
  return tensor;
}

std::vector<float> Floats(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

std::unique_ptr<Vae> Loaded(const TensorSource& source, DType dtype, const OpContext& ctx,
                            VaeParts parts = VaeParts::kBoth) {
  auto vae = Vae::Load(source, dtype, parts, ctx);
  NS_CHECK(vae.ok(), "{}", ErrorText(vae.status()));
  return std::move(vae).value();
}

// Decodes a random latent [6, 5, 9].
StatusOr<std::vector<float>> Decoded(const RandomVae& source, DType dtype, const OpContext& ctx,
                                     const CancelToken* cancel = nullptr) {
  const auto vae = Loaded(source, dtype, ctx, VaeParts::kDecoder);
  const Tensor latent = Random({6, 5, 9});
  Tensor image(DType::kF32, {3, 20, 36}, {});
  NS_RETURN_IF_ERROR(vae->Decode(latent.view(), image.view(), ctx, cancel));
  return Floats(image);
}

std::vector<float> Encoded(const RandomVae& source, const OpContext& ctx) {
  const auto vae = Loaded(source, DType::kF32, ctx, VaeParts::kEncoder);
  const Tensor image = Random({3, 20, 36});
  Tensor features(DType::kF32, {6, 5, 9}, {});
  NS_CHECK(vae->Encode(image.view(), features.view(), ctx).ok());
  return Floats(features);
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  NS_CHECK_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

TEST(VaeConfig, IsReadOffTheTensors) {
  RandomVae source(kSmall);
  const auto check = [&] {
    const auto config = VaeConfig::FromTensors(source);
    ASSERT_TRUE(config.ok()) << ErrorText(config.status());
    EXPECT_EQ(config->bits, 6);
    EXPECT_EQ(config->base_channels, 24);
    EXPECT_EQ(config->multipliers, (std::vector<int64_t>{1, 2, 4}));
    EXPECT_EQ(config->decoder_res_blocks, 3);
    EXPECT_EQ(config->stride(), 4);
  };
  check();
  source.Erase("decoder.conv_in.conv.weight");  // an encoder alone
  check();
}

TEST(VaeConfig, NamesTheTensorThatIsWrong) {
  RandomVae misshapen(kSmall);
  misshapen.SetShape("decoder.up.1.block.0.conv1.conv.weight", {40, 96, 3, 3});
  EXPECT_THAT(ErrorText(VaeConfig::FromTensors(misshapen).status()),
              HasSubstr("decoder.up.1.block.0.conv1.conv.weight"));
  RandomVae no_levels(kSmall);
  no_levels.Erase("decoder.up.0.block.0.conv1.conv.weight");
  EXPECT_THAT(ErrorText(VaeConfig::FromTensors(no_levels).status()),
              HasSubstr("decoder.up.0.block.0.conv1.conv.weight"));
}

TEST(Vae, LoadNamesAMissingTensor) {
  RandomVae source(kSmall);
  source.Erase("decoder.mid.block_2.norm1.norm.bias");
  const OpContext ctx;
  EXPECT_THAT(ErrorText(Vae::Load(source, DType::kF32, VaeParts::kDecoder, ctx).status()),
              HasSubstr("decoder.mid.block_2.norm1.norm.bias"));
  EXPECT_TRUE(Vae::Load(source, DType::kF32, VaeParts::kEncoder, ctx).ok());
}

TEST(Vae, BackendsAgree) {
  const RandomVae source(kSmall);
  const OpContext fast(Backend::kFast), reference(Backend::kReference);
  // Some 30 layers of f32 roundings; the golden models show 5e-6 of the largest value.
  EXPECT_LE(LargestDifference(*Decoded(source, DType::kF32, fast), *Decoded(source, DType::kF32, reference)),
            3e-5);
  EXPECT_LE(LargestDifference(Encoded(source, fast), Encoded(source, reference)), 1e-4);  // features reach 3
}

// bf16 keeps 8 bits: an error of 2^-9 an operand, through some 30 layers. One image against the other: a mean
// of under a percent.
TEST(Vae, Bf16StaysNearF32) {
  const RandomVae source(kSmall);
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    const std::vector<float> exact = *Decoded(source, DType::kF32, ctx),
                             rounded = *Decoded(source, DType::kBF16, ctx);
    double sum = 0;
    for (size_t i = 0; i < exact.size(); ++i) sum += std::fabs(exact[i] - rounded[i]);
    EXPECT_LE(sum / static_cast<double>(exact.size()), 0.01);
    EXPECT_GT(sum, 0);  // it did round
  }
}

TEST(Vae, SameBitsForAnyNumberOfThreads) {
  const RandomVae source(kSmall);
  const int threads = MaxThreads();
  std::vector<std::vector<float>> images;
  for (int n : {1, 2, 3}) {
    SetMaxThreads(n);
    images.push_back(*Decoded(source, DType::kBF16, OpContext()));
  }
  SetMaxThreads(threads);
  EXPECT_EQ(images[0], images[1]);
  EXPECT_EQ(images[0], images[2]);
}

TEST(Vae, StopsWhenCancelled) {
  CancelToken cancel;
  cancel.Cancel();
  MemoryLedger ledger;
  const OpContext ctx(Backend::kFast, &ledger);
  EXPECT_EQ(ExitCode(Decoded(RandomVae(kSmall), DType::kF32, ctx, &cancel).status()), 130);
  EXPECT_EQ(ledger.current(Account::kActivations), 0);
}

TEST(Vae, NamesTheLayerThatFirstIsNotFinite) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    for (const float bad : {NAN, INFINITY}) {
      RandomVae source(kSmall);
      source.Poison("decoder.up.1.block.2.conv1.conv.weight", bad);
      const Status status = Decoded(source, DType::kF32, OpContext(backend)).status();
      EXPECT_EQ(ExitCode(status), 1);
      EXPECT_THAT(ErrorText(status), HasSubstr("decoder.up.1.block.2.conv1 "));
    }
  }
}

TEST(Vae, HoldsWhatThePlanSaysAndNothingAfterwards) {
  const int threads = MaxThreads();
  SetMaxThreads(1);  // with more, one may find no tile to do, and need no scratch
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    MemoryLedger ledger;
    const OpContext ctx(Backend::kFast, &ledger);
    const auto vae = Loaded(RandomVae(kSmall), dtype, ctx, VaeParts::kDecoder);
    EXPECT_EQ(static_cast<int64_t>(vae->weight_bytes()), VaeWeightBytes(kSmall, dtype, VaeParts::kDecoder));
    EXPECT_EQ(ledger.current(Account::kWeights), VaeWeightBytes(kSmall, dtype, VaeParts::kDecoder));
    const Tensor latent = Random({6, 17, 30});
    Tensor image(DType::kF32, {3, 68, 120}, {});
    ASSERT_TRUE(vae->Decode(latent.view(), image.view(), ctx).ok());
    EXPECT_EQ(ledger.peak(Account::kActivations) + ledger.current(Account::kScratch),
              VaeDecodeWorkingBytes(kSmall, {17, 30}, dtype, 1));
    EXPECT_EQ(ledger.current(Account::kActivations), 0);
  }
  SetMaxThreads(threads);
}

// A map of 128 channels at 1024x1024 is 256 MiB in bf16: held are the one of 256 channels at that size, in
// whose place the first block's sum goes, one of 128 within a block, and little else.
TEST(Vae, PublishedSizeFitsInThreeMaps) {
  const int64_t map = int64_t{256} << 20;
  EXPECT_LE(VaeDecodeWorkingBytes(kPublished, {64, 64}, DType::kBF16, 2), 3 * map + map / 8);
}

}  // namespace
}  // namespace nextscale
