// Every tensor of the golden models, which show every published form, against what torch and safetensors read
// from the same files (golden_tensors.txt, made by write_golden_tensors.py). Exact: float32 holds all of
// them.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "checkpoint/model_files.h"

namespace nextscale {
namespace {

const std::string kModels = std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/models/";

struct Expected {
  std::string name, dtype, shape;
  uint32_t crc = 0;
};
// By "model part".
std::map<std::string, std::vector<Expected>> ReadTable() {
  std::map<std::string, std::vector<Expected>> table;
  std::ifstream file(std::string(NEXTSCALE_SOURCE_DIR) + "/tests/checkpoint/golden_tensors.txt");
  std::string model, part;
  for (Expected e; file >> model >> part >> e.name >> e.dtype >> e.shape >> e.crc;)
    table[model + " " + part].push_back(e);
  return table;
}

std::string ShapeText(const Shape& shape) {
  std::ostringstream text;
  for (int i = 0; i < shape.rank(); ++i) text << (i ? "," : "") << shape[i];
  return text.str();
}

// In pieces of `rows` rows, as loaders read.
uint32_t CrcOf(const TensorSource& source, const TensorInfo& info, int64_t rows) {
  const int64_t all = info.shape.rank() ? info.shape[0] : 1, row = info.shape.elements() / all;
  std::vector<float> piece(static_cast<size_t>(std::min(rows, all) * row));
  uLong crc = crc32(0, nullptr, 0);
  for (int64_t at = 0; at < all; at += rows) {
    const int64_t end = std::min(all, at + rows);
    EXPECT_TRUE(source.ReadRows(info, at, end, DType::kF32, piece.data()).ok());
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>((end - at) * row * 4));
  }
  return static_cast<uint32_t>(crc);
}

void ExpectEqual(const std::string& which, const TensorSource* source,
                 const std::vector<Expected>& expected) {
  ASSERT_NE(source, nullptr) << which;
  const std::vector<const TensorInfo*> found = source->List();
  ASSERT_EQ(found.size(), expected.size()) << which;
  for (const Expected& e : expected) {
    const TensorInfo* info = source->Find(e.name);
    ASSERT_NE(info, nullptr) << which << " " << e.name;
    EXPECT_EQ(Name(info->dtype), e.dtype) << which << " " << e.name;
    EXPECT_EQ(ShapeText(info->shape), e.shape) << which << " " << e.name;
    EXPECT_EQ(CrcOf(*source, *info, 1 << 20), e.crc) << which << " " << e.name;
    EXPECT_EQ(CrcOf(*source, *info, 5), e.crc) << which << " " << e.name << " in pieces";
  }
}

TEST(GoldenModels, EveryTensorIsReadAsTorchReadsIt) {
  const auto table = ReadTable();
  ASSERT_EQ(table.size(), 11u);
  for (const std::string model : {"a", "b", "c", "d", "e", "t5-a", "t5-b"}) {
    const StatusOr<ModelFiles> files = OpenModel({.model = kModels + model});
    ASSERT_TRUE(files.ok()) << ErrorText(files.status());
    EXPECT_TRUE(files->notes.empty()) << files->notes[0];
    for (const auto& [part, source] :
         {std::pair("transformer", files->transformer.get()), std::pair("vae", files->vae.get()),
          std::pair("text", files->text.get())}) {
      const auto expected = table.find(model + " " + part);
      if (expected == table.end()) {
        EXPECT_EQ(source, nullptr) << model << " " << part;
      } else {
        ExpectEqual(expected->first, source, expected->second);
      }
    }
  }
}

TEST(GoldenModels, OptionsThatTheFilesTell) {
  const std::map<std::string, std::string> chunks = {
      {"a", "2"}, {"b", "4"}, {"c", "2"}, {"d", "2"}, {"e", "2"}};
  for (const auto& [model, count] : chunks) {
    const StatusOr<ModelFiles> files = OpenModel({.model = kModels + model});
    ASSERT_TRUE(files.ok()) << ErrorText(files.status());
    EXPECT_EQ(files->options.at("block_chunks").value, count) << model;
    EXPECT_EQ(files->name, model);
  }
  const StatusOr<ModelFiles> text = OpenModel({.text_encoder = kModels + "t5-a"});
  ASSERT_TRUE(text.ok()) << ErrorText(text.status());
  EXPECT_EQ(text->options.at("text.relative_attention_max_distance").value, "128");
  EXPECT_EQ(std::stod(text->options.at("text.layer_norm_epsilon").value), 1e-6);
  EXPECT_EQ(text->tokenizer.size(), 247267u);
}

TEST(GoldenModels, NamedPartsGoBeforeTheFolders) {
  const StatusOr<ModelFiles> files = OpenModel({.model = kModels + "a",
                                                .vae = kModels + "c/vae.pth",
                                                .text_encoder = kModels + "t5-a",
                                                .options = {{"block_chunks", "4"}, {"anything", "7"}}});
  ASSERT_TRUE(files.ok()) << ErrorText(files.status());
  EXPECT_EQ(files->transformer->Describe(), kModels + "a/transformer.pth");
  EXPECT_EQ(files->vae->Describe(), kModels + "c/vae.pth");
  EXPECT_NE(files->text, nullptr);
  EXPECT_EQ(files->options.at("block_chunks").value, "4");
  EXPECT_EQ(files->options.at("anything").value, "7");
}

}  // namespace
}  // namespace nextscale
