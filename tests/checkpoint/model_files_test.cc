// Which parts are found in what people have, and what is said when they can't be used.
#include "checkpoint/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/checkpoint/files.h"

namespace nextscale {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace nextscale::testing;

const std::string kGolden = std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/models/";
const std::vector<std::string> kTransformer = {"word_embed.weight", "block_chunks.0.module.0.sa.q_bias",
                                               "block_chunks.1.module.0.sa.q_bias",
                                               "block_chunks.0.module.0.sa.zero_k_bias"},
                               kVae = {"decoder.conv_in.conv.weight", "quantizer.lfq.mask",
                                       "quantize.lfq.mask"},
                               kText = {"encoder.block.0.layer.0.layer_norm.weight", "shared.weight",
                                        "encoder.embed_tokens.weight", "decoder.block.0.x", "lm_head.weight"};
const std::string kConfig =
    R"({"relative_attention_max_distance": 64, "layer_norm_epsilon": 1e-5, "model_type": "t5"})";

void AddText(const TempFolder& folder, const std::string& name) {
  folder.Write(name + "/config.json", kConfig);
  folder.Write(name + "/spiece.model", "pieces");
  folder.Write(name + "/model.safetensors", TinySafetensors(kText));
}
std::vector<std::string> Names(const TensorSource* source) {
  std::vector<std::string> names;
  if (source)
    for (const TensorInfo* info : source->List()) names.push_back(info->name);
  return names;
}
std::string ErrorOf(const ModelPaths& paths) { return ErrorText(OpenModel(paths).status()); }

TEST(ModelFiles, FolderOfPublishedFilesWhateverTheirNames) {
  const TempFolder folder;
  folder.Write("one.safetensors", TinySafetensors(kVae));
  folder.Write("two.safetensors", TinySafetensors(kTransformer));
  AddText(folder, "somewhere");
  folder.Write("notes.txt", "not a weight file");
  const auto files = OpenModel({.model = folder.path()});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_THAT(Names(files->transformer.get()),
              ElementsAre("blocks.0.sa.q_bias", "blocks.1.sa.q_bias", "word_embed.weight"));
  EXPECT_THAT(Names(files->vae.get()), ElementsAre("decoder.conv_in.conv.weight"));
  EXPECT_THAT(Names(files->text.get()),
              ElementsAre("encoder.block.0.layer.0.layer_norm.weight", "shared.weight"));
  EXPECT_EQ(files->tokenizer, "pieces");
  EXPECT_EQ(files->options.at("block_chunks").value, "2");
  EXPECT_EQ(files->options.at("text.relative_attention_max_distance").value, "64");
  EXPECT_EQ(std::stod(files->options.at("text.layer_norm_epsilon").value), 1e-5);
  EXPECT_THAT(files->notes, IsEmpty());
  EXPECT_EQ(files->inputs.size(), 5u);
}

TEST(ModelFiles, ShardedTransformerFolderBesideTheRest) {
  const TempFolder folder;
  const std::string base = "infinity_8b_weights/";
  folder.Write(base + "model-00001-of-00002.safetensors",
               TinySafetensors({kTransformer[0], kTransformer[1]}));
  folder.Write(base + "model-00002-of-00002.safetensors",
               TinySafetensors({kTransformer[2], "not.in.the.index"}));
  const std::string index =
      folder.Write(base + "model.safetensors.index.json",
                   R"({"metadata":{},"weight_map":{"word_embed.weight":"model-00001-of-00002.safetensors",)"
                   R"("block_chunks.0.module.0.sa.q_bias":"model-00001-of-00002.safetensors",)"
                   R"("block_chunks.1.module.0.sa.q_bias":"model-00002-of-00002.safetensors"}})");
  folder.Write("vae.safetensors", TinySafetensors(kVae));
  for (const ModelPaths& paths : std::vector<ModelPaths>{{.model = folder.path()},
                                                         {.model = folder.path(base)},
                                                         {.transformer = folder.path(base)},
                                                         {.transformer = index}}) {
    const auto files = OpenModel(paths);
    ASSERT_TRUE(files.ok()) << ErrorText(files.status());
    EXPECT_EQ(Names(files->transformer.get()).size(), 3u);
  }
  std::filesystem::remove(folder.path(base + "model-00002-of-00002.safetensors"));
  EXPECT_THAT(
      ErrorOf({.model = folder.path()}),
      AllOf(HasSubstr("model-00002-of-00002.safetensors is missing"), HasSubstr("index.json names it")));
}

TEST(ModelFiles, BrokenIndexes) {
  const TempFolder folder;
  folder.Write("a.safetensors", TinySafetensors(kTransformer));
  const auto error = [&](const std::string& index) {
    return ErrorOf({.transformer = folder.Write("x.index.json", index)});
  };
  EXPECT_THAT(error("["), HasSubstr("not an index"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("not an index"));
  EXPECT_THAT(error("{}"), HasSubstr("weight_map"));
  EXPECT_THAT(error(R"({"weight_map":[]})"), HasSubstr("weight_map"));
  EXPECT_THAT(error(R"({"weight_map":{"w":3}})"), HasSubstr("weight_map of w"));
  EXPECT_THAT(error(R"({"weight_map":{"w":"../../etc/passwd"}})"), HasSubstr("own folder"));
  EXPECT_THAT(error(R"({"weight_map":{"w":""}})"), HasSubstr("own folder"));
  EXPECT_THAT(error(R"({"weight_map":{"w":"b.safetensors"}})"), HasSubstr("b.safetensors is missing"));
  EXPECT_THAT(error(R"({"weight_map":{"w":"a.safetensors"}})"), HasSubstr("lacks tensor w"));
  EXPECT_THAT(error(R"({"weight_map":{"w":"x.index.json"}})"), HasSubstr("x.index.json"));
}

TEST(ModelFiles, TwoFilesForOnePart) {
  const TempFolder folder;
  folder.Write("a.safetensors", TinySafetensors(kVae));
  const std::string b = folder.Write("b.safetensors", TinySafetensors(kVae));
  EXPECT_THAT(ErrorOf({.model = folder.path()}),
              AllOf(HasSubstr("two files hold a VAE"), HasSubstr("a.safetensors"), HasSubstr("b.safetensors"),
                    HasSubstr("--vae")));
  const auto files = OpenModel({.model = folder.path(), .vae = b});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_EQ(files->vae->Describe(), b);
}

TEST(ModelFiles, FilesOfAFolderThatAreNoPart) {
  const TempFolder folder;
  folder.Write("t.safetensors", TinySafetensors(kTransformer));
  folder.Write("t5.safetensors", TinySafetensors(kText));
  folder.Write("other.safetensors", TinySafetensors({"what.is.this"}));
  folder.Write("training_args.bin", "no zip archive");
  // A part is missing, and this file may be it.
  EXPECT_THAT(ErrorOf({.model = folder.path()}), HasSubstr("training_args.bin"));
  folder.Write("v.safetensors", TinySafetensors(kVae));
  const auto files = OpenModel({.model = folder.path()});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_THAT(files->notes, ElementsAre(HasSubstr("other.safetensors"), HasSubstr("t5.safetensors"),
                                        HasSubstr("training_args.bin")));
}

TEST(ModelFiles, PipesAndLongMetadataInAFolder) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe.pth").c_str(), 0600), 0);  // opening it would wait for ever
  folder.Write("t.safetensors", TinySafetensors(kTransformer));
  folder.Write("v.safetensors", TinySafetensors(kVae));
  const auto files = OpenModel({.model = folder.path()});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_THAT(ErrorOf({.vae = folder.path("pipe.pth")}), HasSubstr("not a regular file"));
  const std::string metadata = R"({"__metadata__":{"nextscale":")" + std::string((1 << 20) + 1, '[') + "\"}}";
  EXPECT_THAT(ErrorOf({.model = folder.Write("p.safetensors", Safetensors(metadata, ""))}),
              HasSubstr("too long"));
}

TEST(ModelFiles, UnknownKeysAreListedOnce) {
  const TempFolder folder;
  const auto files = OpenModel(
      {.transformer = folder.Write("t.safetensors",
                                   TinySafetensors({"word_embed.weight", "strange.key", "blocks.0.odd"}))});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_THAT(files->notes, ElementsAre(AllOf(HasSubstr("strange.key"), HasSubstr("blocks.0.odd"))));
  EXPECT_THAT(Names(files->transformer.get()), ElementsAre("word_embed.weight"));
}

TEST(ModelFiles, BlocksAreNumberedThroughTheChunksWithoutGaps) {
  const TempFolder folder;
  const auto open = [&](const std::vector<std::string>& names) {
    return OpenModel({.transformer = folder.Write("t.safetensors", TinySafetensors(names))});
  };
  const auto files = open({"block_chunks.0.module.0.ada_gss", "block_chunks.0.module.1.ada_gss",
                           "block_chunks.1.module.0.ada_gss", "block_chunks.1.module.1.ada_gss"});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_THAT(Names(files->transformer.get()),
              ElementsAre("blocks.0.ada_gss", "blocks.1.ada_gss", "blocks.2.ada_gss", "blocks.3.ada_gss"));
  EXPECT_THAT(ErrorText(open({"block_chunks.0.module.1.ada_gss"}).status()), HasSubstr("lacks blocks"));
  EXPECT_THAT(ErrorText(open({"blocks.0.ada_gss", "blocks.999999.ada_gss"}).status()),
              HasSubstr("lacks blocks"));
  EXPECT_THAT(ErrorText(open({"blocks.0.ada_gss", "block_chunks.0.module.0.ada_gss"}).status()),
              HasSubstr("both"));
  EXPECT_THAT(ErrorText(open({"blocks.0.ada_gss", "blocks.00.ada_gss"}).status()), HasSubstr("twice"));
}

TEST(ModelFiles, TiedEmbeddingUnderItsOtherName) {
  const TempFolder folder;
  AddText(folder, "t5");
  folder.Write("t5/model.safetensors",
               TinySafetensors({"encoder.block.0.layer.0.layer_norm.weight", "encoder.embed_tokens.weight"}));
  const auto files = OpenModel({.text_encoder = folder.path("t5")});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_NE(files->text->Find("shared.weight"), nullptr);
}

TEST(ModelFiles, WrongCalls) {
  const TempFolder folder;
  const std::string vae = folder.Write("v.safetensors", TinySafetensors(kVae));
  AddText(folder, "t5");
  const auto exit_code = [](const ModelPaths& paths) { return ExitCode(OpenModel(paths).status()); };
  EXPECT_EQ(exit_code({.model = folder.path("nowhere")}), 2);
  EXPECT_EQ(exit_code({.transformer = folder.path("nowhere.pth")}), 2);
  EXPECT_EQ(exit_code({.text_encoder = folder.path("nowhere")}), 2);
  EXPECT_EQ(exit_code({.text_encoder = vae}), 2);
  EXPECT_THAT(ErrorOf({.transformer = vae}), AllOf(HasSubstr("is not a transformer"),
                                                   HasSubstr("those of a VAE"), HasSubstr("--transformer")));
  EXPECT_THAT(ErrorOf({.model = folder.Write("odd.safetensors", TinySafetensors({"w"}))}),
              HasSubstr("neither a package"));
  std::filesystem::remove(folder.path("t5/spiece.model"));
  EXPECT_THAT(ErrorOf({.text_encoder = folder.path("t5")}), HasSubstr("has no spiece.model"));
  folder.Write("t5/spiece.model", "x");
  for (const std::string config : {"", "[]", "{", "\xff"}) {
    folder.Write("t5/config.json", config);
    EXPECT_THAT(ErrorOf({.text_encoder = folder.path("t5")}), HasSubstr("config.json is not a JSON object"));
  }
  folder.Write("t5/config.json", R"({"feed_forward_proj":"relu"})");
  EXPECT_THAT(ErrorOf({.text_encoder = folder.path("t5")}), HasSubstr("relu"));
}

}  // namespace
}  // namespace nextscale
