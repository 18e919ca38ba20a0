// Draws against the published vectors, torch's recorded numbers and probabilities, and against chance.
#include "ops/sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "row_problem.h"

namespace nextscale {
namespace {

// cli.md, "Seeds".
TEST(Philox, HasThePublishedWords) {
  EXPECT_EQ(Philox(1, {0, 0, 0, 0})[0], 0xe3e80670u);
  EXPECT_EQ(Philox(1, {12, 63, 5, 31})[0], 0x1234367fu);
  EXPECT_EQ(Philox(4294967303u, {6, 15, 2, 7})[0], 0xbeae9504u);
}

// A tensor of a small safetensors file of f32.
std::vector<float> Recorded(const std::string& file, const std::string& name) {
  uint64_t header_size = 0;
  std::memcpy(&header_size, file.data(), sizeof(header_size));
  const nlohmann::json header = nlohmann::json::parse(file.substr(8, header_size));
  const uint64_t begin = header.at(name).at("data_offsets").at(0),
                 end = header.at(name).at("data_offsets").at(1);
  std::vector<float> values((end - begin) / sizeof(float));
  std::memcpy(values.data(), file.data() + 8 + header_size + begin, end - begin);
  return values;
}

TEST(TorchExponential, ReplaysTorchsGenerator) {
  const StatusOr<std::string> file =
      ReadSmallFile(NEXTSCALE_SOURCE_DIR "/tests/golden/torch_draws.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  for (const uint64_t seed : {uint64_t{0}, uint64_t{7}, uint64_t{4294967303}}) {
    TorchExponential generator(seed);
    for (const char* part : {"first", "second"}) {
      const std::vector<float> expected = Recorded(*file, fmt::format("seed{}.{}", seed, part));
      std::vector<float> got(expected.size());
      generator.Fill(got);
      EXPECT_EQ(got, expected) << "seed " << seed << ", " << part;
    }
  }
}

struct Option {
  float logit0, logit1;
  double top_p;
  float p0, p1;
};

// From torch 2 and oracle/var_infinity.py, probabilities.
const Option kOptions[] = {
    {0, 1, 0.97, 0.268941432f, 0.731058598f},
    {0, 3.4f, 0.97, 0.0322954617f, 0.967704594f},
    {0, 3.5f, 0.97, 0, 1},
    {2.5f, -1.25f, 0, 0.977022648f, 0.0229773708f},
    {2.5f, -1.25f, 0.9, 1, 0},
    {0.5f, 0.5f, 0.5, 0, 1},
    {0.5f, 0.5f, 0.97, 0.5f, 0.5f},
    {-3, -3.2f, 0.4, 1, 0},
    {60, -60, 0, 1, 0},
};

TEST(TopP, IsTorchs) {
  for (const Option& o : kOptions) {
    const BitProbabilities p = TopP(o.logit0, o.logit1, o.top_p, 900);
    EXPECT_NEAR(p.p0, o.p0, 1e-7) << o.logit0 << " " << o.logit1 << " " << o.top_p;
    EXPECT_NEAR(p.p1, o.p1, 1e-7) << o.logit0 << " " << o.logit1 << " " << o.top_p;
  }
}

TEST(TopP, DropsExactlyUpToTheThreshold) {
  // top_p is chosen so that 1 - top_p is the smaller probability itself, or one step of f32 less.
  const float p1 = TopP(2.0f, -0.5f, 0, 0).p1;
  EXPECT_EQ(TopP(2.0f, -0.5f, 1.0 - static_cast<double>(p1), 0).p1, 0.0f);
  EXPECT_GT(TopP(2.0f, -0.5f, 1.0 - static_cast<double>(std::nextafter(p1, 0.0f)), 0).p1, 0.0f);
}

TEST(TopP, TopKOfOneKeepsTheLarger) {
  EXPECT_EQ(TopP(0.1f, 0.2f, 0, 1).p1, 1.0f);
  EXPECT_EQ(TopP(0.2f, 0.1f, 0, 1).p0, 1.0f);
  EXPECT_EQ(TopP(0.2f, 0.2f, 0, 1).p0, 0.5f);  // torch's top-k mask keeps both of two equal logits
  EXPECT_EQ(TopP(0.2f, 0.1f, 0, 2).p0, TopP(0.2f, 0.1f, 0, 0).p0);
}

TEST(SamplePhilox, TakesEachBitsOwnWord) {
  const MapSize map{37, 5};
  const int64_t d = 32;
  const Tensor logits = RandomTensor({map.tokens(), d, 2}, DType::kF32, 0.0f, 2.0f, 1);
  Tensor bits(DType::kU8, {map.tokens(), d}, {}), twin(DType::kU8, bits.shape(), {});
  SampleArgs args{
      .logits = logits.view(), .bits = bits.view(), .map = map, .scale = 9, .seed = 0x123456789abcu};
  SamplePhilox(args, OpContext(Backend::kFast));
  args.bits = twin.view();
  SamplePhilox(args, OpContext(Backend::kReference));
  EXPECT_TRUE(SameBytes(bits, twin));
  for (int64_t t = 0; t < map.tokens(); ++t) {
    for (int64_t i = 0; i < d; ++i) {
      const uint32_t word =
          Philox(args.seed, {9, static_cast<uint32_t>(t / map.w), static_cast<uint32_t>(t % map.w),
                             static_cast<uint32_t>(i)})[0];
      const float* l = logits.data<float>() + 2 * (t * d + i);
      ASSERT_EQ(bits.data<uint8_t>()[t * d + i], std::ldexp(word >> 8, -24) < TopP(l[0], l[1], 0.97, 900).p1);
    }
  }
}

// 131,072 bits of p(1) = 0.3, which chance leaves within 5 standard deviations of 0.00127; and what top-p
// drops never comes.
TEST(SamplePhilox, FollowsTheProbabilities) {
  const MapSize map{64, 64};
  Tensor logits(DType::kF32, {map.tokens(), 64}, {}), bits(DType::kU8, {map.tokens(), 32}, {});
  const OpContext ctx;
  const auto share = [&](float p1, double top_p) {
    for (int64_t i = 0; i < bits.elements(); ++i) {
      logits.data<float>()[2 * i] = std::log(1 - p1);
      logits.data<float>()[2 * i + 1] = std::log(p1);
    }
    SamplePhilox(
        {.logits = logits.view(), .bits = bits.view(), .map = map, .scale = 12, .seed = 5, .top_p = top_p},
        ctx);
    double ones = 0;
    for (int64_t i = 0; i < bits.elements(); ++i) ones += bits.data<uint8_t>()[i];
    return ones / static_cast<double>(bits.elements());
  };
  EXPECT_NEAR(share(0.3f, 0.97), 0.3, 5 * 0.00127);
  EXPECT_EQ(share(0.02f, 0.97), 0.0);
  EXPECT_NEAR(share(0.02f, 0), 0.02, 5 * 0.00039);
}

TEST(SampleExponential, TakesTheLargerQuotient) {
  // log odds 0: p/e is larger where e is smaller; equal ones give 0. Then p = (3/4, 1/4) against e = (3, 1)
  // and around.
  const float three = std::log(3.0f);
  const std::vector<float> l = {0, 0, 0, 0, 0, 0, three, 0, three, 0, 9, 0, 0, 9},
                           e = {1, 2, 2, 1, 1, 1, 3, 1.01f, 3, 0.99f, 1, 0, 0, 1};
  const std::vector<uint8_t> expected = {0, 1, 0, 0,
                                         1, 0, 1};  // the last two: what is dropped loses even with e = 0
  Tensor logits(DType::kF32, {1, 7, 2}, {}), draws(DType::kF32, {1, 7, 2}, {}), bits(DType::kU8, {1, 7}, {});
  std::copy(l.begin(), l.end(), logits.data<float>());
  std::copy(e.begin(), e.end(), draws.data<float>());
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    bits.FillZero();
    SampleExponential(logits.view(), draws.view(), 0.97, 900, bits.view(), OpContext(backend));
    EXPECT_EQ(std::vector<uint8_t>(bits.data<uint8_t>(), bits.data<uint8_t>() + 7), expected);
  }
}

// A broken model must not crash here: NaN logits give 0.
TEST(Sample, OfNanIsZero) {
  Tensor logits(DType::kF32, {1, 2, 2}, {}), draws(DType::kF32, {1, 2, 2}, {}), bits(DType::kU8, {1, 2}, {});
  for (int i = 0; i < 4; ++i) {
    logits.data<float>()[i] = i == 1 || i == 2 ? NAN : 0.0f;
    draws.data<float>()[i] = 1;
  }
  for (const double top_p : {0.0, 0.97}) {
    std::memset(bits.data<uint8_t>(), 7, 2);
    SampleExponential(logits.view(), draws.view(), top_p, 900, bits.view(), OpContext());
    EXPECT_EQ(bits.data<uint8_t>()[0] + bits.data<uint8_t>()[1], 0);
    std::memset(bits.data<uint8_t>(), 7, 2);
    SamplePhilox({.logits = logits.view(), .bits = bits.view(), .map = {1, 1}, .top_p = top_p}, OpContext());
    EXPECT_EQ(bits.data<uint8_t>()[0] + bits.data<uint8_t>()[1], 0);
  }
}

TEST(GuideLogits, MixesAfterTau) {
  const Tensor cond = RandomTensor({700, 64}, DType::kF32, 0.0f, 3.0f, 1),
               uncond = RandomTensor({700, 64}, DType::kF32, 0.0f, 3.0f, 2);
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    const OpContext ctx(backend);
    Tensor out(DType::kF32, cond.shape(), {}), alone(DType::kF32, cond.shape(), {});
    GuideLogits(cond.view(), uncond.view(), 3.0f, 0.7f, out.view(), ctx);
    GuideLogits(cond.view(), ConstView(), 3.0f, 0.7f, alone.view(), ctx);
    for (int64_t i = 0; i < cond.elements(); ++i) {
      const double c = cond.data<float>()[i], u = uncond.data<float>()[i];
      ASSERT_NEAR(out.data<float>()[i], (3 * c - 2 * u) / 0.7f, 1e-5);  // roundings of values up to 60
      ASSERT_EQ(alone.data<float>()[i], cond.data<float>()[i] / 0.7f);
    }
  }
}

TEST(BitsToCode, HasUnitLength) {
  Tensor bits(DType::kU8, {3, 1, 2}, {}), code(DType::kF32, {3, 1, 2}, {});
  std::copy_n(std::vector<uint8_t>{0, 1, 1, 1, 0, 0}.data(), 6, bits.data<uint8_t>());
  BitsToCode(bits.view(), code.view());
  const float unit = 1 / std::sqrt(3.0f);
  EXPECT_EQ(FirstDifference(Floats(code), {-unit, unit, unit, unit, -unit, -unit}, 1e-7, 0), "");
}

}  // namespace
}  // namespace nextscale
