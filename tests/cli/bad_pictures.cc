// Wrong inputs of tokenize, reconstruct, metadata, parity and --from-bits.
#include "bad_input.h"
#include "broken_files.h"

namespace nextscale {
namespace {

std::vector<std::string> Vae(std::vector<std::string> arguments, const std::string& model = "c") {
  arguments.insert(arguments.end(), {"--vae", Golden("models/" + model + "/vae.pth"), "-o",
                                     arguments[0] == "tokenize" ? "out.safetensors" : "out.png"});
  return arguments;
}

BadInput Picture(const std::string& name, Make make, std::vector<std::string> arguments,
                 std::vector<int> exits, const std::string& says) {
  return {.name = name,
          .make = std::move(make),
          .arguments = std::move(arguments),
          .exit_statuses = std::move(exits),
          .says = says};
}

// The golden case beside its models, changed.
BadInput Case(const std::string& name, const std::string& golden, Make change, const std::string& says) {
  return {.name = name,
          .make = All({Copy(Golden(golden), "case"), std::move(change)}),
          .arguments = {"parity", "case"},
          .exit_statuses = {1, 2},
          .says = says};
}

}  // namespace

std::vector<BadInput> BadPictures() {
  const std::string bits = Base("bits.safetensors"), picture = Base("picture.png");
  const auto edit_bits = [&](std::function<void(LooseTensors&)> edit) {
    return Edit(bits, "b.safetensors", std::move(edit));
  };
  return {
      Picture("no_such_picture", {}, Vae({"tokenize", "nowhere.png"}), {2}, "nowhere.png"),
      Picture("text_as_picture", Text("p.png", "no picture"), Vae({"tokenize", "p.png"}), {1}, "p.png"),
      Picture("folder_as_picture", {}, Vae({"tokenize", "/"}), {1, 2}, "/"),
      Picture("device_as_picture", {}, Vae({"tokenize", "/dev/zero"}), {1, 2}, "/dev/zero"),
      Picture("picture_of_no_schedule", {}, Vae({"tokenize", Golden("vae-encode/input.png")}), {2},
              "--resize"),
      Picture("picture_for_the_wrong_pixels", {}, Vae({"tokenize", picture, "--pixels", "1M"}), {2}, "1M"),
      Picture("resize_by_no_such_filter", {}, Vae({"tokenize", picture, "--resize", "cubic"}), {2},
              "--resize"),
      Picture(
          "no_vae_named", {},
          {"tokenize", picture, "-o", "b.safetensors", "--transformer", Golden("models/c/transformer.pth")},
          {1}, "--vae"),
      Picture("png_claiming_a_huge_size",
              All({Copy(picture, "p.png"), Swap("p.png", "p.png", std::string("IHDR\0\0\0\x20\0\0\0\x20", 12),
                                                std::string("IHDR\x7f\xff\xff\xff\x7f\xff\xff\xff", 12))}),
              Vae({"tokenize", "p.png"}), {1}, "p.png"),
      Picture("bits_of_another_vae", {}, Vae({"reconstruct", bits}, "a"), {1, 2}, "bits"),
      Picture("picture_without_settings", {}, {"metadata", Golden("vae-encode/input.png")}, {1}, "settings"),
      Picture("settings_of_a_missing_file", {}, {"metadata", "nowhere.png"}, {2}, "nowhere.png"),
      Picture("settings_of_a_package", {}, {"metadata", Base("model.safetensors")}, {1}, "model.safetensors"),
      Picture("bits_lack_a_scale", edit_bits([](LooseTensors& b) { b.Hide("scale02.bits"); }),
              Vae({"reconstruct", "b.safetensors"}), {1, 2}, "scale02.bits"),
      Picture("bits_above_1", edit_bits([](LooseTensors& b) { b.body[0] = 7; }),
              Vae({"reconstruct", "b.safetensors"}), {1}, "scale00.bits"),
      Picture("bits_of_another_type",
              edit_bits([](LooseTensors& b) { b.header["scale01.bits"]["dtype"] = "I8"; }),
              Vae({"reconstruct", "b.safetensors"}), {1}, "scale01.bits"),
      Picture("bits_of_a_map_that_no_schedule_has", edit_bits([](LooseTensors& b) {
                b.header["scale01.bits"]["shape"] = {1, 6, 4, 1};
              }),
              GenerateC({"--from-bits", "b.safetensors"}), {1, 2}, "scale 1"),
      Picture("from_a_missing_file", {}, GenerateC({"--from-bits", "nowhere.safetensors"}), {2},
              "nowhere.safetensors"),
      Picture("from_bits_of_another_model", {},
              GenerateC({"--from-bits", Golden("vae-encode/expected.safetensors")}), {1, 2},
              "expected.safetensors"),
      Picture("from_bits_of_another_size", {}, GenerateC({"--from-bits", bits, "--aspect", "2:1"}), {1, 2},
              "bits"),
      Picture("from_a_package", {}, GenerateC({"--from-bits", Base("model.safetensors")}), {1}, "no bits"),
      Picture("keep_more_scales_than_there_are", {}, GenerateC({"--from-bits", bits, "--keep-scales", "9"}),
              {2}, "--keep-scales"),
      Picture("keep_scales_of_nothing", {}, GenerateC({"--keep-scales", "3"}), {2}, "--keep-scales"),
      Picture("keep_negative_scales", {}, GenerateC({"--from-bits", bits, "--keep-scales", "-1"}), {2},
              "--keep-scales"),

      Picture("parity_on_no_folder", {}, {"parity", "nowhere"}, {2}, "nowhere"),
      Picture("parity_on_no_case", {}, {"parity", Golden("models")}, {1, 2}, "request.json"),
      Picture("parity_on_a_file", {}, {"parity", picture}, {1, 2}, "picture.png"),
      Case("parity_request_is_cut", "full-unguided",
           Cut(Golden("full-unguided/request.json"), "case/request.json", 300), "request.json"),
      Case("parity_request_is_a_list", "full-unguided", Text("case/request.json", "[]"), "request.json"),
      Case("parity_request_is_empty", "full-unguided", Text("case/request.json", "{}"), "request.json"),
      Case("parity_request_of_unknown_kind", "full-unguided",
           Swap(Golden("full-unguided/request.json"), "case/request.json", "generate", "dance"), "dance"),
      Case("parity_without_its_model", "full-unguided", {[] {}}, "models"),
      Case("parity_without_expected_values", "full-unguided", Remove("case/expected.safetensors"),
           "expected.safetensors"),
  };
}

}  // namespace nextscale
