// Whole generations: the bundled model against the oracle's bits, and that a picture depends on nothing but
// its own request.
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "base/threads.h"
#include "checkpoint/safetensors.h"
#include "engine/engine.h"
#include "engine/memory_plan.h"

namespace nextscale {
namespace {

std::string Source(const std::string& path) { return std::string(NEXTSCALE_SOURCE_DIR) + "/" + path; }

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// A loaded model and the texts of its prompts.
struct Loaded {
  ModelFiles files;
  ModelInfo info;
  std::unique_ptr<Engine> engine;

  Loaded(const ModelPaths& paths, DType type, const OpContext& ops) {
    files = OpenModel(paths).value();
    info = ReadModelInfo(files).value();
    engine = Engine::Load(files, info, {.transformer = type, .vae = type, .text = type}, ops).value();
  }
  std::vector<PromptText> Encode(const std::vector<std::string>& prompts, DType type,
                                 const OpContext& ops) const {
    return EncodePrompts(files, info, prompts, type, ops, nullptr).value();
  }
};

// All bits of an image, scale after scale.
std::vector<uint8_t> BitsOf(const GeneratedImage& image) {
  std::vector<uint8_t> all;
  for (const Tensor& bits : image.bits)
    all.insert(all.end(), bits.data<uint8_t>(), bits.data<uint8_t>() + bits.elements());
  return all;
}

PictureRequest Request(const std::string& prompt, uint64_t seed, float cfg, float tau) {
  PictureRequest r{.prompt = prompt, .seed = seed, .schedule = MakeSchedule(1.0, 7)};
  r.cfg.assign(7, cfg);
  r.tau.assign(7, tau);
  return r;
}

TEST(BundledModel, DrawsTheOraclesBitsFromTorchsNumbers) {
  const OpContext ops;
  const Loaded model({.model = Source("models/nextscale-emoji.safetensors")}, DType::kF32, ops);
  const std::vector<std::string> prompts = Lines(Source("tests/engine/demo_prompts.txt"));
  ASSERT_EQ(prompts.size(), 10u);
  const std::vector<PromptText> texts = model.Encode(prompts, DType::kF32, ops);
  const auto expected =
      StoredTensors::Create("demo_bits",
                            ReadSafetensors(Source("tests/engine/demo_bits.safetensors")).value().tensors)
          .value();
  std::vector<ImageJob> jobs;
  for (size_t i = 0; i < prompts.size(); ++i) {
    PictureRequest r = Request(prompts[i], 100 + i, 3.0f, 0.7f);
    r.rng = RngKind::kTorch;
    jobs.push_back({.request = r, .prompt = &texts[i]});
  }
  for (size_t first = 0; first < jobs.size(); first += 5) {  // two batches
    const auto result = model.engine->Generate(std::span(jobs).subspan(first, 5), {}, ops);
    ASSERT_TRUE(result.ok()) << result.status();
    for (size_t i = 0; i < 5; ++i) {
      const TensorInfo* info = expected->Find("prompt" + std::to_string(first + i));
      ASSERT_NE(info, nullptr);
      std::vector<uint8_t> oracle(info->shape.elements());
      ASSERT_TRUE(expected->ReadRows(*info, 0, info->shape[0], DType::kU8, oracle.data()).ok());
      EXPECT_EQ(BitsOf(result->images[i]), oracle) << prompts[first + i];
    }
  }
}

class OwnRequestOnly : public testing::TestWithParam<DType> {
 protected:
  void TearDown() override { SetMaxThreads(threads_); }
  const int threads_ = MaxThreads();
};

// The same seed: alone, in batches of several sizes and places, beside other guidance and lengths, with 1, 2
// and 3 threads.
TEST_P(OwnRequestOnly, BitsDoNotDependOnBatchPlaceOrThreads) {
  const ModelPaths paths{.transformer = Source("tests/golden/models/a/transformer.pth"),
                         .vae = Source("tests/golden/models/a/vae.pth"),
                         .text_encoder = Source("tests/golden/models/t5-a")};
  const std::vector<std::string> prompts = {"red apple", "a small brown dog with a yellow hat, twemoji style",
                                            "", "moon"};
  std::vector<uint8_t> alone;
  for (int threads : {1, 2, 3}) {
    SetMaxThreads(threads);
    const OpContext ops;
    const Loaded model(paths, GetParam(), ops);
    const std::vector<PromptText> texts = model.Encode(prompts, GetParam(), ops);
    const auto job = [&](size_t i, uint64_t seed, float cfg) {
      return ImageJob{.request = Request(prompts[i], seed, cfg, 1.0f), .prompt = &texts[i]};
    };
    const std::vector<std::vector<ImageJob>> batches = {{job(1, 7, 3.0f)},
                                                        {job(0, 1, 2.0f), job(1, 7, 3.0f)},
                                                        {job(1, 7, 3.0f), job(2, 2, 1.0f), job(3, 3, 4.0f)},
                                                        {job(2, 9, 1.0f), job(0, 7, 1.0f), job(1, 7, 3.0f)}};
    const size_t place[] = {0, 1, 0, 2};
    for (size_t b = 0; b < batches.size(); ++b) {
      const auto result = model.engine->Generate(batches[b], {}, ops);
      ASSERT_TRUE(result.ok()) << result.status();
      const std::vector<uint8_t> bits = BitsOf(result->images[place[b]]);
      if (alone.empty()) alone = bits;
      EXPECT_EQ(bits, alone) << "batch " << b << ", " << threads << " threads";
    }
  }
}

// As above, with the last two scales pruned: every stream chooses and restores its own tokens.
TEST_P(OwnRequestOnly, PrunedBitsDoNotDependOnBatchPlaceOrThreads) {
  const ModelPaths paths{.transformer = Source("tests/golden/models/a/transformer.pth"),
                         .vae = Source("tests/golden/models/a/vae.pth"),
                         .text_encoder = Source("tests/golden/models/t5-a")};
  BatchOptions options;
  options.prune = {.ratios = {{5, 0.4}, {6, 0.5}}, .layers = std::pair<int64_t, int64_t>(1, 2)};
  std::vector<uint8_t> alone;
  for (int threads : {1, 2}) {
    SetMaxThreads(threads);
    const OpContext ops;
    const Loaded model(paths, GetParam(), ops);
    const std::vector<PromptText> texts = model.Encode({"red apple", "moon"}, GetParam(), ops);
    const ImageJob own{.request = Request("moon", 7, 3.0f, 1.0f), .prompt = &texts[1]},
        other{.request = Request("red apple", 1, 2.0f, 1.0f), .prompt = &texts[0]},
        unguided{.request = Request("red apple", 2, 1.0f, 1.0f), .prompt = &texts[0]};
    for (const std::vector<ImageJob>& batch : {std::vector<ImageJob>{own}, std::vector<ImageJob>{other, own},
                                               std::vector<ImageJob>{unguided, own}}) {
      const auto result = model.engine->Generate(batch, options, ops);
      ASSERT_TRUE(result.ok()) << result.status();
      const std::vector<uint8_t> bits = BitsOf(result->images.back());
      if (alone.empty()) alone = bits;
      EXPECT_EQ(bits, alone) << batch.size() << " pictures, " << threads << " threads";
    }
  }
}

// As above, with caches that keep some tokens only; batches of different sizes, so that other memory lies
// beside a stream's.
TEST_P(OwnRequestOnly, CachePoliciesDoNotLookBesideTheirStream) {
  const ModelPaths paths{.model = Source("models/nextscale-emoji.safetensors")};
  const OpContext ops;
  const Loaded model(paths, GetParam(), ops);
  const std::vector<PromptText> texts = model.Encode({"red apple", "moon"}, GetParam(), ops);
  const ImageJob own{.request = Request("moon", 7, 3.0f, 0.7f), .prompt = &texts[1]},
      other{.request = Request("red apple", 1, 2.0f, 0.7f), .prompt = &texts[0]};
  for (const KvPolicyKind policy : {KvPolicyKind::kSlidingWindow, KvPolicyKind::kSnapKv,
                                    KvPolicyKind::kPyramidKv, KvPolicyKind::kScaleKvReference}) {
    BatchOptions options;
    options.kv = {.policy = policy, .budget_tokens = 30, .reference_start = 0};
    std::vector<uint8_t> alone;
    for (const std::vector<ImageJob>& batch :
         {std::vector<ImageJob>{own}, {other, own}, {other, other, other, own}}) {
      const auto result = model.engine->Generate(batch, options, ops);
      ASSERT_TRUE(result.ok()) << result.status();
      const std::vector<uint8_t> bits = BitsOf(result->images.back());
      if (alone.empty()) alone = bits;
      EXPECT_EQ(bits, alone) << Name(policy) << ", " << batch.size() << " pictures";
    }
  }
}

class UncondUntil : public testing::TestWithParam<DType> {
 protected:
  UncondUntil()
      : ops_(Backend::kFast, &ledger_),
        model_({.model = Source("models/nextscale-emoji.safetensors")}, GetParam(), ops_),
        texts_(model_.Encode({"red apple", "moon"}, GetParam(), ops_)) {}

  ImageJob Job(std::vector<float> cfg, std::optional<int> until, std::vector<int> layers = {0}) const {
    ImageJob job{.request = Request("red apple", 5, 3.0f, 0.7f), .prompt = &texts_[0]};
    job.request.cfg = std::move(cfg);
    job.request.uncond_until = until;
    job.request.cfg_insertion_layer = std::move(layers);
    return job;
  }
  BatchResult Generate(const std::vector<ImageJob>& jobs, const BatchOptions& options = {}) {
    return model_.engine->Generate(jobs, options, ops_).value();
  }
  const std::vector<float> guided_ = std::vector<float>(7, 3.0f), guided_to_3_ = {3, 3, 3, 3, 1, 1, 1};
  MemoryLedger ledger_;
  OpContext ops_;
  Loaded model_;
  std::vector<PromptText> texts_;
};

TEST_P(UncondUntil, TheLastScaleIsTheWholeSchedule) {
  EXPECT_EQ(BitsOf(Generate({Job(guided_, 6)}).images[0]),
            BitsOf(Generate({Job(guided_, std::nullopt)}).images[0]));
}

// A stream that nothing listens to may as well go on: guidance of 1 by scale is the plain statement of it.
TEST_P(UncondUntil, IsGuidanceOf1AfterThatScale) {
  for (const std::vector<int>& layers : {std::vector<int>{0}, std::vector<int>{0, -2}}) {
    const std::vector<uint8_t> bits = BitsOf(Generate({Job(guided_, 3, layers)}).images[0]);
    EXPECT_EQ(bits, BitsOf(Generate({Job(guided_to_3_, std::nullopt, layers)}).images[0]));
    EXPECT_NE(bits, BitsOf(Generate({Job(guided_, std::nullopt, layers)}).images[0]));
  }
  BatchOptions both{.kv = {.policy = KvPolicyKind::kSnapKv, .budget_percent = 20}};
  both.prune = {.ratios = {{3, 1.0}, {5, 0.4}}};
  EXPECT_EQ(BitsOf(Generate({Job(guided_, 3)}, both).images[0]),
            BitsOf(Generate({Job(guided_to_3_, std::nullopt)}, both).images[0]));
}

TEST_P(UncondUntil, FreesTheStreamsCacheAfterThatScale) {
  const BatchResult all = Generate({Job(guided_, std::nullopt)}), some = Generate({Job(guided_, 3)});
  const int text_kv = static_cast<int>(Account::kTextKv), kv = static_cast<int>(Account::kKv);
  for (int k = 0; k < 7; ++k) {
    const int64_t share = k < 3 ? 1 : 2;
    EXPECT_EQ(some.scales[k].kv_bytes * share, all.scales[k].kv_bytes) << k;
    EXPECT_EQ(some.scales[k].account_bytes[kv], some.scales[k].kv_bytes) << k;
    EXPECT_EQ(some.scales[k].account_bytes[text_kv] * share, all.scales[k].account_bytes[text_kv]) << k;
  }
}

TEST_P(UncondUntil, IsInThePlan) {
  for (const std::optional<int> until :
       {std::optional<int>(), std::optional<int>(4), std::optional<int>(0)}) {
    ledger_.ResetPeaks();
    Generate({Job(guided_, until)});
    const PlanRequest request{.schedule = MakeSchedule(1.0, 7),
                              .uncond_until = until,
                              .types = {.transformer = GetParam(), .vae = GetParam(), .text = GetParam()}};
    const MemoryPlan plan = PlanMemory(model_.info, request).value();
    EXPECT_EQ(plan.accounts[static_cast<int>(Account::kKv)], ledger_.peak(Account::kKv))
        << until.value_or(-1);
  }
}

// Streams leave a batch one by one; the others don't notice.
TEST_P(UncondUntil, MayDifferWithinABatch) {
  ImageJob other = Job(guided_, 1);
  other.request.seed = 8;
  other.prompt = &texts_[1];
  const std::vector<ImageJob> jobs = {other, Job(guided_, 4), Job(std::vector<float>(7, 1.0f), std::nullopt),
                                      Job(guided_, std::nullopt)};
  const BatchResult together = Generate(jobs);
  for (size_t i = 0; i < jobs.size(); ++i)
    EXPECT_EQ(BitsOf(together.images[i]), BitsOf(Generate({jobs[i]}).images[0])) << i;
}

INSTANTIATE_TEST_SUITE_P(Types, UncondUntil, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& type) { return std::string(Name(type.param)); });

TEST(ScaleReport, TellsBytesByLayerAndRole) {
  const OpContext ops;
  const Loaded model({.model = Source("models/nextscale-emoji.safetensors")}, DType::kF32, ops);
  const std::vector<PromptText> texts = model.Encode({"red apple"}, DType::kF32, ops);
  const ImageJob job{.request = Request("red apple", 5, 3.0f, 0.7f), .prompt = &texts[0]};
  const int64_t depth = model.info.transformer->depth;
  BatchOptions options{.kv = {.policy = KvPolicyKind::kScaleKv, .budget_tokens = 60}};
  options.kv.drafters.assign(7, std::vector<bool>(depth, false));
  options.kv.drafters[5][1] = true;
  options.prune = {.ratios = {{4, 1.0}}};
  const BatchResult result = model.engine->Generate({&job, 1}, options, ops).value();
  const int64_t token = 2 * 2 * model.info.transformer->width * 4;
  for (const ScaleReport& s : result.scales) {
    EXPECT_EQ(std::accumulate(s.layer_kv_bytes.begin(), s.layer_kv_bytes.end(), int64_t{0}), s.kv_bytes);
    for (int64_t layer = 0; layer < depth; ++layer)
      EXPECT_EQ(s.layer_kv_bytes[layer], s.kv_tokens[layer] * token) << s.scale;
    ASSERT_EQ(static_cast<int64_t>(s.drafters.size()), depth);
    // Scale 4 is skipped: after scale 3 it is scale 5 that reads.
    EXPECT_EQ(s.drafters[1], s.scale == 3) << s.scale;
  }
  const int64_t tokens = 1 + 4 + 16 + 36 + 64 + 144;
  EXPECT_EQ(result.scales.back().full_kv_bytes, depth * tokens * token);
  EXPECT_EQ(result.scales.back().selection_seconds, 0);
  EXPECT_GT(result.scales[4].selection_seconds, 0);
}

class Pruning : public testing::TestWithParam<DType> {
 protected:
  Pruning()
      : ops_(Backend::kFast, &ledger_),
        model_({.model = Source("models/nextscale-emoji.safetensors")}, GetParam(), ops_),
        texts_(model_.Encode({"red apple"}, GetParam(), ops_)) {}

  BatchResult Generate(PruneOptions prune) {
    BatchOptions options;
    options.prune = std::move(prune);
    const std::vector<ImageJob> jobs = {
        {.request = Request("red apple", 5, 3.0f, 0.7f), .prompt = &texts_[0]}};
    return model_.engine->Generate(jobs, options, ops_).value();
  }
  int64_t width() const { return model_.info.transformer->width; }

  MemoryLedger ledger_;
  OpContext ops_;
  Loaded model_;
  std::vector<PromptText> texts_;
};

TEST_P(Pruning, OfNothingIsThePictureWithout) {
  EXPECT_EQ(BitsOf(Generate({.ratios = {{5, 0.0}, {6, 0.0}}}).images[0]), BitsOf(Generate({}).images[0]));
}

// Storing a scale's outputs for later doesn't change the scale.
TEST_P(Pruning, LeavesTheScalesBeforeAsTheyWere) {
  const BatchResult pruned = Generate({.ratios = {{5, 0.4}, {6, 0.5}}}), full = Generate({});
  for (int k = 0; k < 5; ++k) {
    const Tensor &a = pruned.images[0].bits[k], &b = full.images[0].bits[k];
    EXPECT_TRUE(std::equal(a.data<uint8_t>(), a.data<uint8_t>() + a.elements(), b.data<uint8_t>())) << k;
  }
  EXPECT_NE(BitsOf(pruned.images[0]), BitsOf(full.images[0]));
}

TEST_P(Pruning, SkippedScalesHaveNoBitsAndNoReport) {
  const BatchResult result = Generate({.ratios = {{4, 1.0}, {6, 1.0}}});
  ASSERT_EQ(result.images[0].bits.size(), 7u);
  EXPECT_TRUE(result.images[0].bits[4].empty() && result.images[0].bits[6].empty());
  EXPECT_FALSE(result.images[0].bits[5].empty());
  ASSERT_EQ(result.scales.size(), 5u);
  EXPECT_EQ(result.scales.back().scale, 5);
  EXPECT_EQ(result.scales.back().kv_tokens, result.scales[3].kv_tokens);  // nothing is kept of the last run
}

// All branches of the pruned layers, both streams, from the source scale to the last that reads them.
TEST_P(Pruning, HoldsStoredOutputsAsLongAsTheyAreRead) {
  const BatchResult result =
      Generate({.ratios = {{4, 0.5}, {5, 0.4}}, .source = 2, .layers = std::pair<int64_t, int64_t>(1, 2)});
  const int64_t source_tokens = 4 * 4, branches = 2 * 3,
                stored = branches * 2 * source_tokens * width() * static_cast<int64_t>(SizeOf(GetParam()));
  const int prune = static_cast<int>(Account::kPrune);
  const std::vector<int64_t> expected = {0, 0, stored, stored, stored, 0, 0};
  for (int k = 0; k < 7; ++k) EXPECT_EQ(result.scales[k].account_bytes[prune], expected[k]) << k;
}

INSTANTIATE_TEST_SUITE_P(Types, Pruning, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& type) { return std::string(Name(type.param)); });
INSTANTIATE_TEST_SUITE_P(Types, OwnRequestOnly, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& type) { return std::string(Name(type.param)); });

}  // namespace
}  // namespace nextscale
