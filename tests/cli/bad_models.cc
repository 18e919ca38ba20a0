// Checkpoints that are no model, and weights that are not finite.
#include <cmath>

#include "bad_input.h"
#include "broken_files.h"

namespace nextscale {
namespace {

const std::string kShards = "models/d/transformer";

std::vector<std::string> Inspect(const std::string& path) { return {"inspect", path}; }

// A package with golden model c in it, changed.
BadInput Package(const std::string& name, std::function<void(LooseTensors&)> edit, int exit_status,
                 const std::string& says, const std::vector<std::string>& more = {}) {
  return {.name = name,
          .make = Edit(Base("model.safetensors"), "m.safetensors", std::move(edit)),
          .arguments = GenerateWith("m.safetensors", more),
          .exit_statuses = {exit_status},
          .says = says};
}

// golden model d's shards, changed after being copied to folder `shards`.
BadInput Shards(const std::string& name, Make change, const std::string& says) {
  return {.name = name,
          .make = All({Copy(Golden(kShards), "shards"), std::move(change)}),
          .arguments = Inspect("shards"),
          .exit_statuses = {1, 2},
          .says = says};
}

// The text encoder's folder, changed after being copied to `t5`.
BadInput TextEncoder(const std::string& name, Make change, const std::string& says) {
  return {.name = name,
          .make = All({Copy(Golden("models/t5-a"), "t5"), std::move(change)}),
          .arguments = GenerateParts({.text = "t5"}),
          .exit_statuses = {1, 2},
          .says = says};
}

std::function<void(LooseTensors&)> Set(const std::string& tensor, float value) {
  return [=](LooseTensors& m) { m.Values(tensor)[0] = value; };
}

}  // namespace

std::vector<BadInput> BadCheckpoints() {
  const std::string c_t = Golden("models/c/transformer.pth"), c_v = Golden("models/c/vae.pth"),
                    kMatrix = "transformer.blocks.1.ffn.fc1.weight";
  return {
      Shards("a_shard_is_missing", Remove("shards/model-00003-of-00003.safetensors"),
             "model-00003-of-00003.safetensors"),
      Shards("the_index_is_missing", Remove("shards/model.safetensors.index.json"), "shards"),
      Shards("a_shard_lacks_a_tensor",
             Edit("shards/model-00002-of-00003.safetensors", "shards/model-00002-of-00003.safetensors",
                  [](LooseTensors& s) { s.Hide("block_chunks.0.module.0.ada_gss"); }),
             "ada_gss"),
      Shards("the_index_names_a_path_outside",
             Swap(Golden(kShards) + "/model.safetensors.index.json", "shards/model.safetensors.index.json",
                  "model-00002-of-00003.safetensors", "../model-00002.safetensors"),
             "model-00002.safetensors"),
      Shards("the_index_is_a_list", Text("shards/model.safetensors.index.json", "[1, 2]"), "index.json"),
      Shards("the_index_is_deeply_nested",
             Text("shards/model.safetensors.index.json", std::string(100000, '[')), "index.json"),
      Shards("all_shards_are_missing",
             All({Remove("shards/model-00001-of-00003.safetensors"),
                  Remove("shards/model-00002-of-00003.safetensors"),
                  Remove("shards/model-00003-of-00003.safetensors")}),
             "safetensors"),

      Package(
          "a_matrix_is_missing", [=](LooseTensors& m) { m.Hide(kMatrix); }, 1, "ffn.fc1.weight"),
      Package(
          "a_matrix_is_transposed",
          [=](LooseTensors& m) { std::swap(m.header[kMatrix]["shape"][0], m.header[kMatrix]["shape"][1]); },
          1, "ffn.fc1.weight"),
      Package(
          "a_matrix_of_integers", [=](LooseTensors& m) { m.header[kMatrix]["dtype"] = "I32"; }, 1,
          "ffn.fc1.weight"),
      Package(
          "a_matrix_of_unknown_type", [=](LooseTensors& m) { m.header[kMatrix]["dtype"] = "F4"; }, 1, "F4"),
      Package(
          "a_matrix_beyond_the_file",
          [=](LooseTensors& m) {
            auto& offsets = m.header[kMatrix]["data_offsets"];
            offsets[0] = offsets[0].get<int64_t>() + 100000000,
            offsets[1] = offsets[1].get<int64_t>() + 100000000;
          },
          1, "m.safetensors"),
      Package(
          "a_matrix_whose_size_overflows",
          [=](LooseTensors& m) {
            m.header[kMatrix]["shape"] = {4294967296, 4294967296, 4294967296};
          },
          1, "ffn.fc1.weight"),
      Package(
          "a_matrix_of_negative_size",
          [=](LooseTensors& m) {
            m.header[kMatrix]["shape"] = {-1, 48};
          },
          1, "ffn.fc1.weight"),
      Package(
          "the_vae_lacks_a_convolution", [](LooseTensors& m) { m.Hide("vae.decoder.conv_out.conv.weight"); },
          1, "conv_out"),
      Package(
          "the_text_encoder_lacks_its_embedding", [](LooseTensors& m) { m.Hide("text.shared.weight"); }, 1,
          "shared.weight"),
      Package(
          "the_text_encoder_lacks_a_matrix",
          [](LooseTensors& m) { m.Hide("text.encoder.block.1.layer.1.DenseReluDense.wo.weight"); }, 1,
          "encoder.block.1.layer.1.DenseReluDense.wo.weight"),
      Package(
          "no_tokenizer", [](LooseTensors& m) { m.Hide("tokenizer.spiece"); }, 1, "spiece.model"),
      Package(
          "no_vae",
          [](LooseTensors& m) {
            const nlohmann::ordered_json whole = m.header;
            for (const auto& [name, value] : whole.items())
              if (name.starts_with("vae.")) m.Hide(name);
          },
          1, "VAE"),
      Package(
          "metadata_is_no_json",
          [](LooseTensors& m) { m.header["__metadata__"]["nextscale"] = "{\"version\": 1"; }, 1,
          "m.safetensors"),
      Package(
          "metadata_of_a_later_version",
          [](LooseTensors& m) { m.header["__metadata__"]["nextscale"] = "{\"version\": 99}"; }, 1, "99"),
      Package(
          "metadata_of_wrong_kinds",
          [](LooseTensors& m) {
            m.header["__metadata__"]["nextscale"] =
                R"({"version": 1, "options": [1], "presets": 3, "trained_pixels": {}})";
          },
          1, "m.safetensors"),
      Package(
          "metadata_trained_at_no_size",
          [](LooseTensors& m) {
            m.header["__metadata__"]["nextscale"] = R"({"version": 1, "trained_pixels": "7M"})";
          },
          1, "m.safetensors: option trained_pixels=7M"),
      Package(
          "metadata_with_an_option_out_of_range",
          [](LooseTensors& m) {
            m.header["__metadata__"]["nextscale"] = R"({"version": 1, "options": {"block_chunks": "0"}})";
          },
          1, "m.safetensors: option block_chunks=0"),
      Package(
          "metadata_with_a_preset_that_is_none",
          [](LooseTensors& m) {
            m.header["__metadata__"]["nextscale"] =
                R"({"version": 1, "options": {"block_chunks": "2", "text.layer_norm_epsilon": "1e-06", "text.relative_attention_max_distance": "128"}, "presets": {"tau": "warm"}})";
          },
          1, "m.safetensors: preset tau=warm"),

      {.name = "vae_of_another_model",
       .arguments = GenerateParts({.vae = Golden("models/a/vae.pth")}),
       .exit_statuses = {1, 2},
       .says = "6 bits"},
      {.name = "text_encoder_of_another_width",
       .arguments = GenerateParts({.text = Golden("models/t5-b")}),
       .exit_statuses = {1, 2},
       .says = "128"},
      {.name = "vae_as_transformer",
       .arguments = GenerateParts({.transformer = c_v}),
       .exit_statuses = {1, 2},
       .says = c_v},
      {.name = "transformer_as_vae",
       .arguments = GenerateParts({.vae = c_t}),
       .exit_statuses = {1, 2},
       .says = c_t},
      {.name = "two_transformers_in_a_folder",
       .make =
           All({Text("folder/readme.txt", "both"), Copy(c_t, "folder/one.pth"), Copy(c_t, "folder/two.pth")}),
       .arguments = Inspect("folder"),
       .exit_statuses = {1, 2},
       .says = "two.pth"},
      {.name = "empty_folder",
       .make = Text("folder/readme.txt", "nothing"),
       .arguments = Inspect("folder"),
       .exit_statuses = {1, 2},
       .says = "folder"},
      {.name = "text_file_as_model",
       .make = Text("m.safetensors", "no model"),
       .arguments = Inspect("m.safetensors"),
       .exit_statuses = {1},
       .says = "m.safetensors"},
      {.name = "expected_values_as_model",
       .arguments = Inspect(Golden("vae-encode/expected.safetensors")),
       .exit_statuses = {1},
       .says = "expected.safetensors"},
      {.name = "folder_of_a_case_as_model",
       .arguments = Inspect(Golden("full-unguided")),
       .exit_statuses = {1, 2},
       .says = "full-unguided"},
      {.name = "device_as_model",
       .arguments = Inspect("/dev/zero"),
       .exit_statuses = {1, 2},
       .says = "/dev/zero"},
      {.name = "transformer_alone",
       .arguments = {"generate", "-p", "x", "--transformer", c_t, "-o", "out.png"},
       .exit_statuses = {1},
       .says = "--vae"},
      TextEncoder("no_config", Remove("t5/config.json"), "config.json"),
      TextEncoder("no_spiece", Remove("t5/spiece.model"), "spiece.model"),
      TextEncoder("no_weights", Remove("t5/model.safetensors"), "t5"),
      TextEncoder("config_is_a_list", Text("t5/config.json", "[]"), "config.json"),
      TextEncoder("config_of_no_distance",
                  Swap("t5/config.json", "t5/config.json", "max_distance\": 128", "max_distance\": 0"),
                  "max_distance"),
      TextEncoder("config_of_negative_epsilon", Swap("t5/config.json", "t5/config.json", "1e-06", "-1e-06"),
                  "epsilon"),
      TextEncoder("config_whose_epsilon_is_text",
                  Swap("t5/config.json", "t5/config.json", "1e-06", "\"tiny\""), "epsilon"),
      TextEncoder("config_of_other_activation",
                  Swap("t5/config.json", "t5/config.json", "gated-gelu", "swish"), "swish"),
      TextEncoder("spiece_is_a_picture", Copy(Base("picture.png"), "t5/spiece.model"), "spiece.model"),
  };
}

std::vector<BadInput> BadNumbers() {
  const float nan = std::nanf(""), infinity = INFINITY;
  return {
      Package("nan_in_a_matrix_of_a_block", Set("transformer.blocks.2.ffn.fc1.weight", nan), 1, "block 2"),
      Package("infinity_in_a_matrix_of_a_block", Set("transformer.blocks.1.sa.mat_qkv.weight", infinity), 1,
              "block 1"),
      Package("nan_in_ada_gss", Set("transformer.blocks.3.ada_gss", nan), 1, "block 3"),
      Package("nan_in_the_head", Set("transformer.head.weight", nan), 1, "head"),
      Package("nan_in_the_decoder", Set("vae.decoder.conv_in.conv.weight", nan), 1, "decoder.conv_in"),
      Package("infinity_at_the_decoders_end", Set("vae.decoder.conv_out.conv.bias", infinity), 1,
              "decoder.conv_out"),
      Package("nan_in_the_text_encoder", Set("text.encoder.block.1.layer.1.DenseReluDense.wo.weight", nan), 1,
              "text encoder"),
      Package(
          "infinity_in_the_token_embedding",
          [](LooseTensors& m) { std::fill_n(m.Values("text.shared.weight"), 512 * 128, INFINITY); }, 1,
          "text encoder"),
      Package("nan_in_the_unconditional_text", Set("transformer.cfg_uncond", nan), 1, "text", {"--cfg", "3"}),
  };
}

}  // namespace nextscale
