// The text encoder against the golden files, between its backends and types, and on broken models.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "checkpoint/model_files.h"
#include "checkpoint/safetensors.h"
#include "memory_source.h"
#include "model/text/t5_encoder.h"
#include "model/text/tokenizer.h"

namespace nextscale {
namespace {

using ::testing::HasSubstr;
using Prompts = std::vector<std::vector<int32_t>>;

const std::string kGolden = NEXTSCALE_SOURCE_DIR "/tests/golden/";

ModelFiles OpenGolden(const std::string& name) {
  return OpenModel({.text_encoder = kGolden + "models/" + name}).value();
}

std::shared_ptr<const TensorSource> Expected(const std::string& name) {
  StoredFile file = ReadSafetensors(kGolden + name + "/expected.safetensors").value();
  return StoredTensors::Create(name, std::move(file.tensors)).value();
}

std::vector<int32_t> ReadIds(const TensorSource& source, const std::string& name) {
  const Tensor ids = ReadTensor(source, name, {-1}, DType::kI32, {}).value();
  return {ids.data<int32_t>(), ids.data<int32_t>() + ids.elements()};
}

// Largest difference relative to the largest expected value.
double RelativeDifference(ConstView found, ConstView expected) {
  NS_CHECK(found.shape() == expected.shape(), "{} {}", ToString(found.shape()), ToString(expected.shape()));
  double difference = 0, largest = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double e = expected.data<float>()[i], d = std::fabs(found.data<float>()[i] - e);
    difference = std::max(difference, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
    largest = std::max(largest, std::fabs(e));
  }
  return difference / largest;
}

// The golden case's texts: largest relative difference of their rows.
double GoldenDifference(const std::string& model, const std::string& name,
                        const std::vector<std::string>& texts, DType dtype, Backend backend) {
  const ModelFiles files = OpenGolden(model);
  const T5Config config = T5Config::FromTensors(*files.text, files.options).value();
  const auto expected = Expected(name);
  Prompts prompts;
  for (const std::string& text : texts) prompts.push_back(ReadIds(*expected, text + ".ids"));
  const OpContext ctx(backend);
  const std::vector<Tensor> rows = EncodeText(*files.text, config, dtype, prompts, ctx).value();
  double largest = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Tensor e = ReadTensor(*expected, texts[i] + ".t5", {-1, -1}, DType::kF32, {}).value();
    largest = std::max(largest, RelativeDifference(rows[i].view(), e.view()));
  }
  return largest;
}

std::vector<std::string> LongPromptTexts() {
  std::vector<std::string> texts;
  for (int i = 0; i < 10; ++i) texts.push_back("prompt" + std::to_string(i));
  return texts;
}
const std::vector<std::string> kPairTexts = {"prompt0", "prompt1", "negative"};

// float64 against float32 is 2e-6 (golden/README.md); another order of the sums costs about as much.
constexpr double kF32 = 5e-6;
// An operand in bf16 is off by 2^-9 of itself; a few of those in a row, summed over some products.
constexpr double kBF16 = 0.03;

TEST(T5, GivesTheGoldenRows) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    EXPECT_LT(GoldenDifference("t5-a", "T5-long-prompt", LongPromptTexts(), DType::kF32, backend), kF32);
    EXPECT_LT(GoldenDifference("t5-b", "full-nonsquare-b2-neg", kPairTexts, DType::kF32, backend), kF32);
  }
}

TEST(T5, InBf16IsNearTheGoldenRows) {
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    EXPECT_LT(GoldenDifference("t5-a", "T5-long-prompt", LongPromptTexts(), DType::kBF16, backend), kBF16);
    EXPECT_LT(GoldenDifference("t5-b", "full-nonsquare-b2-neg", kPairTexts, DType::kBF16, backend), kBF16);
  }
}

TEST(T5, TokenizesTheGoldenPrompts) {
  const ModelFiles files = OpenGolden("t5-a");
  const auto tokenizer = Tokenizer::FromBytes(files.tokenizer, "t5-a").value();
  const auto request = nlohmann::json::parse(ReadSmallFile(kGolden + "T5-long-prompt/request.json").value());
  const auto expected = Expected("T5-long-prompt");
  const auto& prompts = request["prompts"];
  ASSERT_EQ(prompts.size(), 10u);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto tokens =
        tokenizer->Encode(prompts[i].get<std::string>(), request["limit"].get<int64_t>()).value();
    EXPECT_EQ(tokens.ids, ReadIds(*expected, "prompt" + std::to_string(i) + ".ids")) << i;
    EXPECT_EQ(tokens.cut, i == 0) << i;
  }
}

TEST(T5, SizesComeFromTheTensors) {
  const ModelFiles files = OpenGolden("t5-a");
  const T5Config c = T5Config::FromTensors(*files.text, {}).value();
  EXPECT_EQ(c.vocabulary, 512);
  EXPECT_EQ(c.width, 128);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.ffn, 192);
  EXPECT_EQ(c.buckets, 32);
  EXPECT_EQ(c.max_distance, 128);
  const T5Config other = T5Config::FromTensors(*files.text, {{"text.relative_attention_max_distance", "64"},
                                                             {"text.layer_norm_epsilon", "1e-5"}})
                             .value();
  EXPECT_EQ(other.max_distance, 64);
  EXPECT_EQ(other.eps, 1e-5f);
}

TEST(T5, WrongOptionsAreErrors) {
  const ModelFiles files = OpenGolden("t5-a");
  for (const char* value : {"", "x", "8", "-1", "128.5", "99999999999999999999"}) {
    const Status status =
        T5Config::FromTensors(*files.text, {{"text.relative_attention_max_distance", value}}).status();
    EXPECT_EQ(ExitCode(status), 2) << value;
    EXPECT_THAT(ErrorText(status), HasSubstr("text.relative_attention_max_distance")) << value;
  }
  for (const char* value : {"-1", "nan", "inf", "1e-6x"}) {
    EXPECT_EQ(ExitCode(T5Config::FromTensors(*files.text, {{"text.layer_norm_epsilon", value}}).status()), 2)
        << value;
  }
}

// Sizes that divide by nothing, few buckets, two layers.
struct RandomModel {
  MemorySource source;
  T5Config config;
};
RandomModel MakeRandomModel() {
  constexpr int64_t kVocabulary = 50, kWidth = 37, kHeads = 3, kHeadDim = 11, kFfn = 53, kBuckets = 16;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  RandomModel m;
  const auto set = [&](const std::string& name, Shape shape, float scale, float mean = 0) {
    std::vector<float> values(shape.elements());
    for (float& v : values) v = mean + scale * normal(random);
    m.source.Set(name, shape, std::move(values));
  };
  set("shared.weight", {kVocabulary, kWidth}, 1);
  set("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {kBuckets, kHeads}, 1);
  for (const std::string block : {"encoder.block.0.layer.", "encoder.block.1.layer."}) {
    for (const char* name : {"0.SelfAttention.q", "0.SelfAttention.k", "0.SelfAttention.v"}) {
      set(block + name + ".weight", {kHeads * kHeadDim, kWidth}, 0.15f);
    }
    set(block + "0.SelfAttention.o.weight", {kWidth, kHeads * kHeadDim}, 0.15f);
    for (const char* name : {"1.DenseReluDense.wi_0", "1.DenseReluDense.wi_1"})
      set(block + name + ".weight", {kFfn, kWidth}, 0.15f);
    set(block + "1.DenseReluDense.wo.weight", {kWidth, kFfn}, 0.15f);
    for (const char* name : {"0", "1"}) set(block + name + ".layer_norm.weight", {kWidth}, 0.1f, 1);
  }
  set("encoder.final_layer_norm.weight", {kWidth}, 0.1f, 1);
  m.config = T5Config::FromTensors(m.source, {{"text.relative_attention_max_distance", "64"}}).value();
  return m;
}

// Prompts of these lengths with random tokens.
Prompts RandomPrompts(std::initializer_list<int64_t> lengths) {
  std::mt19937 random(9);
  Prompts prompts;
  for (const int64_t n : lengths) {
    std::vector<int32_t>& ids = prompts.emplace_back();
    for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(random() % 50));
  }
  return prompts;
}

TEST(T5, FastAndReferenceAgree) {
  const RandomModel m = MakeRandomModel();
  const Prompts prompts = RandomPrompts({1, 2, 15, 16, 17, 70, 130});
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const OpContext fast, reference(Backend::kReference);
    const auto a = EncodeText(m.source, m.config, dtype, prompts, fast).value();
    const auto b = EncodeText(m.source, m.config, dtype, prompts, reference).value();
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_LT(RelativeDifference(a[i].view(), b[i].view()), dtype == DType::kF32 ? kF32 : kBF16)
          << prompts[i].size();
    }
  }
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::equal(a.data<float>(), a.data<float>() + a.elements(), b.data<float>());
}

// Groups of one length, more than go at once, and every thread count: the bits of each prompt alone.
TEST(T5, APromptDoesNotDependOnTheOthers) {
  const RandomModel m = MakeRandomModel();
  Prompts prompts = RandomPrompts({5, 200, 5, 1, 200, 40, 200, 5, 1, 7});
  const int threads = MaxThreads();
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    std::vector<Tensor> together;
    {
      const OpContext ctx;
      together = EncodeText(m.source, m.config, dtype, prompts, ctx).value();
    }
    for (const int n : {1, 3}) {
      SetMaxThreads(n);
      const OpContext ctx;
      for (size_t i = 0; i < prompts.size(); ++i) {
        const auto alone = EncodeText(m.source, m.config, dtype, {prompts[i]}, ctx).value();
        EXPECT_TRUE(SameBits(alone[0], together[i])) << Name(dtype) << " " << i << " " << n << " threads";
      }
    }
    SetMaxThreads(threads);
  }
}

TEST(T5, NoPromptsNoRows) {
  const RandomModel m = MakeRandomModel();
  EXPECT_TRUE(EncodeText(m.source, m.config, DType::kF32, {}, OpContext()).value().empty());
}

TEST(T5, StaysWithinThePlan) {
  const RandomModel m = MakeRandomModel();
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    MemoryLedger ledger;
    const OpContext ctx(Backend::kFast, &ledger);
    const Prompts prompts = RandomPrompts({100, 100, 100, 100, 100, 100, 100});
    const auto rows = EncodeText(m.source, m.config, dtype, prompts, ctx).value();
    const int64_t plan = T5WorkingBytes(m.config, dtype, 7, 100);
    const int64_t held = ledger.peak(Account::kWeights) + ledger.peak(Account::kActivations);
    EXPECT_LE(held, plan);
    EXPECT_GT(held, plan / 2);  // the plan is no idle bound
    EXPECT_EQ(ledger.current(Account::kWeights), 0);
    EXPECT_EQ(ledger.current(Account::kActivations), 7 * 100 * m.config.width * 4);
  }
}

TEST(T5, TokensOutsideTheVocabularyAreErrors) {
  const RandomModel m = MakeRandomModel();
  for (const int32_t id : {-1, 50}) {
    const Status status = EncodeText(m.source, m.config, DType::kF32, {{1, id}}, OpContext()).status();
    EXPECT_EQ(ExitCode(status), 2);
    EXPECT_THAT(ErrorText(status), HasSubstr("token " + std::to_string(id)));
  }
}

TEST(T5, MissingAndMisshapenTensorsAreErrors) {
  const RandomModel m = MakeRandomModel();
  for (const TensorInfo* info : m.source.List()) {
    RandomModel broken = MakeRandomModel();
    broken.source.Remove(info->name);
    const Status missing = T5Config::FromTensors(broken.source, {}).status();
    EXPECT_EQ(ExitCode(missing), 1) << info->name;
    EXPECT_THAT(ErrorText(missing), HasSubstr(info->name));

    const Shape wrong =
        info->shape.rank() == 1 ? Shape({info->shape[0] + 1}) : Shape({info->shape[0], info->shape[1], 1});
    broken.source.Set(info->name, wrong, std::vector<float>(wrong.elements()));
    const Status misshapen = T5Config::FromTensors(broken.source, {}).status();
    EXPECT_EQ(ExitCode(misshapen), 1) << info->name;
    EXPECT_THAT(ErrorText(misshapen), HasSubstr(info->name));
  }
}

TEST(T5, HeadsThatDoNotDivideAreErrors) {
  RandomModel m = MakeRandomModel();
  m.source.Set("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {16, 4},
               std::vector<float>(64));
  EXPECT_THAT(ErrorText(T5Config::FromTensors(m.source, {}).status()), HasSubstr("4 heads of equal width"));
  m.source.Set("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {2, 3},
               std::vector<float>(6));
  EXPECT_THAT(ErrorText(T5Config::FromTensors(m.source, {}).status()), HasSubstr("buckets"));
}

TEST(T5, ANaNNamesTheLayerItComesFrom) {
  const std::pair<const char*, const char*> cases[] = {
      {"shared.weight", "shared.weight"},
      {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "encoder.block.0.layer.0"},
      {"encoder.block.0.layer.0.layer_norm.weight", "encoder.block.0.layer.0"},
      {"encoder.block.0.layer.1.DenseReluDense.wi_0.weight", "encoder.block.0.layer.1"},
      {"encoder.block.1.layer.0.SelfAttention.k.weight", "encoder.block.1.layer.0"},
      {"encoder.block.1.layer.0.SelfAttention.v.weight", "encoder.block.1.layer.0"},
      {"encoder.block.1.layer.1.DenseReluDense.wo.weight", "encoder.block.1.layer.1"},
      {"encoder.final_layer_norm.weight", "encoder.final_layer_norm.weight"},
  };
  for (const Backend backend : {Backend::kFast, Backend::kReference}) {
    for (const auto& [tensor, layer] : cases) {
      RandomModel m = MakeRandomModel();
      m.source.At(tensor, 0) = std::numeric_limits<float>::quiet_NaN();
      const Status status =
          EncodeText(m.source, m.config, DType::kF32, {{3, 0, 1}}, OpContext(backend)).status();
      EXPECT_EQ(ExitCode(status), 1) << tensor;
      EXPECT_THAT(ErrorText(status), HasSubstr(std::string("text encoder, ") + layer + ":")) << tensor;
    }
  }
}

TEST(T5, StopsOnRequest) {
  const RandomModel m = MakeRandomModel();
  CancelToken cancel;
  cancel.Cancel();
  EXPECT_EQ(ExitCode(EncodeText(m.source, m.config, DType::kF32, {{1}}, OpContext(), &cancel).status()), 130);
}

}  // namespace
}  // namespace nextscale
