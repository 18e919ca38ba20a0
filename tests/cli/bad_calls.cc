// Calls that are wrong by themselves, outputs that cannot be written, prompts.
#include "bad_input.h"
#include "broken_files.h"

namespace nextscale {
namespace {

// `generate` with golden model c and a flag whose value is wrong.
BadInput Flag(const std::string& name, const std::vector<std::string>& arguments, const std::string& says) {
  return {.name = name, .arguments = GenerateC(arguments), .exit_statuses = {2}, .says = says};
}

BadInput Call(const std::string& name, const std::vector<std::string>& arguments, const std::string& says) {
  return {.name = name, .arguments = arguments, .exit_statuses = {2}, .says = says};
}

// A file of prompts that is wrong at a line.
BadInput Lines(const std::string& name, const std::string& lines, const std::string& says) {
  return {.name = name,
          .make = Text("prompts.jsonl", lines),
          .arguments = GenerateC({"--prompts", "prompts.jsonl", "-o", "%d.png"}),
          .exit_statuses = {2},
          .says = says};
}

std::vector<std::string> EvalC(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"eval", "-m", Base("model.safetensors"), "-p", "x", "--pixels", "0.06M"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> ConvertC(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"convert", "-m", Base("model.safetensors")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// `calibrate` on golden model c.
std::vector<std::string> CalibrateC(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"calibrate", "-m",   Base("model.safetensors"), "-p", "x",
                                  "--pixels",  "0.06M"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::vector<BadInput> BadCalls() {
  return {
      Call("unknown_command", {"paint"}, "paint"),
      Call("no_command", {}, "command"),
      Call("unknown_global_flag", {"--bogus", "generate"}, "--bogus"),
      Flag("unknown_flag", {"--bogus", "1"}, "--bogus"),
      Flag("flag_without_value", {"--seed"}, "--seed"),
      Call("no_prompt", {"generate", "-m", Base("model.safetensors")}, "no prompt"),
      Call("threads_0", {"--threads", "0", "generate", "-p", "x"}, "--threads"),
      Call("threads_word", {"inspect", "--threads", "many"}, "--threads"),
      Call("no_such_model", {"generate", "-p", "x", "-m", "nowhere.safetensors"}, "nowhere.safetensors"),
      Call("no_such_model_to_inspect", {"inspect", "nowhere.pth"}, "nowhere.pth"),
      Call("no_such_vae", GenerateParts({.vae = "nowhere.pth"}), "nowhere.pth"),
      Call("no_such_text_encoder", GenerateParts({.text = "nowhere"}), "nowhere"),
      Call("model_name_with_a_line_break", {"inspect", "no\nwhere"}, "where"),

      Flag("size_zero", {"--size", "0x0"}, "--size 0x0"),
      Flag("size_negative", {"--size", "-1x5"}, "--size -1x5"),
      Flag("size_too_wide", {"--size", "1000000x1"}, "--size 1000000x1"),
      Flag("size_half", {"--size", "12x"}, "--size 12x"),
      Flag("size_word", {"--size", "abc"}, "--size abc"),
      Flag("size_of_a_strip", {"--size", "9000x10"}, "--size 9000x10"),
      Flag("size_infinite", {"--size", "infxinf"}, "--size infxinf"),
      Flag("size_and_aspect", {"--size", "32x32", "--aspect", "1:1"}, "--aspect"),
      Flag("aspect_without_width", {"--aspect", "0:1"}, "--aspect 0:1"),
      Flag("aspect_without_height", {"--aspect", "9:0"}, "--aspect 9:0"),
      Flag("aspect_number", {"--aspect", "1.5"}, "--aspect 1.5"),
      Flag("aspect_nan", {"--aspect", "nan:1"}, "--aspect nan:1"),
      Flag("aspect_too_wide", {"--aspect", "50:1"}, "--aspect 50:1"),
      Flag("pixels_7M", {"--pixels", "7M"}, "7M"),
      Flag("pixels_word", {"--pixels", "many"}, "many"),

      Flag("cfg_of_3_scales", {"--cfg", "1,2,3"}, "--cfg"),
      Flag("cfg_nan", {"--cfg", "nan"}, "--cfg nan"),
      Flag("cfg_open_list", {"--cfg", "3,"}, "--cfg 3,"),
      Flag("cfg_empty", {"--cfg="}, "--cfg"),
      Flag("cfg_infinite", {"--cfg", "1e99"}, "--cfg 1e99"),
      Flag("tau_of_2_scales", {"--tau", "1,1"}, "--tau"),
      Flag("tau_zero", {"--tau", "0"}, "--tau"),
      Flag("tau_negative", {"--tau", "-1"}, "--tau"),
      Flag("tau_word", {"--tau", "warm"}, "--tau warm"),
      Flag("top_p_2", {"--top-p", "2"}, "--top-p"),
      Flag("top_p_nan", {"--top-p", "nan"}, "--top-p"),
      Flag("top_k_negative", {"--top-k", "-5"}, "--top-k"),
      Flag("cfg_insertion_beyond_the_blocks", {"--cfg-insertion-layer", "-99", "--cfg", "3"},
           "cfg_insertion_layer -99"),
      Flag("seed_of_65_bits", {"--seed", "18446744073709551616"}, "--seed"),
      Flag("seed_negative", {"--seed", "-1"}, "--seed"),
      Flag("seed_word", {"--seed", "lucky"}, "--seed"),
      Flag("batch_negative", {"--batch", "-2"}, "--batch"),
      Flag("batch_zero", {"--batch", "0"}, "--batch"),
      Flag("count_negative", {"--count", "-1"}, "--count"),
      Flag("count_huge", {"--count", "99999999999999999999"}, "--count"),
      Flag("rng_unknown", {"--rng", "dice"}, "--rng"),
      Flag("type_unknown", {"--type", "f8"}, "f8"),
      Flag("type_of_no_part", {"--type", "wheel=f32"}, "wheel"),
      Flag("kv_unknown", {"--kv", "lru"}, "lru"),
      Flag("memory_limit_word", {"--memory-limit", "lots"}, "--memory-limit"),
      Flag("memory_limit_negative", {"--memory-limit", "-4G"}, "--memory-limit"),
      {.name = "memory_limit_too_small",
       .arguments =
           GenerateC({"-b", "8", "--count", "8", "-o", "%d.png", "--pixels", "1M", "--memory-limit", "90M"}),
       .exit_statuses = {1},
       .says = "try: --batch"},
      {.name = "memory_limit_hopeless",
       .arguments = GenerateC({"--memory-limit", "1M"}),
       .exit_statuses = {1},
       .says = "this needs"},

      Flag("option_without_value", {"--option", "rope2d_normalized_by_hw"}, "--option"),
      Flag("option_unknown", {"--option", "wheels=4"}, "wheels"),
      Flag("option_of_no_such_rotary_form", {"--option", "rope2d_normalized_by_hw=7"},
           "rope2d_normalized_by_hw"),
      Flag("option_not_a_number", {"--option", "rope2d_normalized_by_hw=two"}, "rope2d_normalized_by_hw"),
      Flag("option_for_another_vae", {"--option", "apply_spatial_patchify=1"}, "apply_spatial_patchify"),

      Flag("kv_scalekv_without_plan", {"--kv", "scalekv"}, "calibrate"),
      Flag("kv_plan_without_policy", {"--kv-plan", "plan.json"}, "--kv-plan"),
      Flag("kv_plan_missing", {"--kv", "scalekv", "--kv-plan", "nowhere.json"}, "nowhere.json"),
      {.name = "kv_plan_a_model",
       .arguments = GenerateC({"--kv", "scalekv", "--kv-plan", Golden("models/c/transformer.pth")}),
       .exit_statuses = {1},
       .says = "transformer.pth"},
      {.name = "kv_plan_of_another_form",
       .make = Text("plan.json", "{\"nextscale_plan\": 1, \"model\": \"x\"}"),
       .arguments = GenerateC({"--kv", "scalekv", "--kv-plan", "plan.json"}),
       .exit_statuses = {1},
       .says = "plan.json is not a plan"},
      Flag("kv_budget_of_nothing", {"--kv", "snapkv", "--kv-budget", "0%"}, "--kv-budget 0%"),
      Flag("kv_budget_beyond_everything", {"--kv", "snapkv", "--kv-budget", "101%"}, "--kv-budget 101%"),
      Flag("kv_budget_negative", {"--kv", "snapkv", "--kv-budget", "-5"}, "--kv-budget"),
      Flag("kv_budget_nan", {"--kv", "snapkv", "--kv-budget", "nan%"}, "--kv-budget nan%"),
      Flag("kv_option_unknown", {"--kv", "snapkv", "--kv-options", "wheels=4"}, "wheels=4"),
      Flag("kv_option_without_value", {"--kv", "snapkv", "--kv-options", "window"}, "window"),
      Flag("kv_window_above_the_budget", {"--kv", "snapkv", "--kv-budget", "4", "--kv-options", "window=99"},
           "window"),
      Flag("prune_unknown", {"--prune", "slowvar"}, "slowvar"),
      Flag("prune_ratio_of_no_scale", {"--prune-ratios", "99=0.5"}, "scale 99"),
      Flag("prune_ratio_above_1", {"--prune-ratios", "3=1.5"}, "1.5"),
      Flag("prune_ratio_nan", {"--prune-ratios", "3=nan"}, "nan"),
      Flag("prune_ratio_without_scale", {"--prune-ratios", "0.5"}, "0.5"),
      Flag("prune_scale_0", {"--prune-ratios", "0=0.5"}, "scale 0"),
      Flag("prune_source_after_its_readers", {"--prune-ratios", "3=0.5", "--prune-source", "4"}, "scale 4"),
      Flag("prune_layers_backwards", {"--prune-ratios", "3=0.5", "--prune-layers", "3-1"}, "3-1"),
      Flag("prune_layers_beyond_the_model", {"--prune-ratios", "3=0.5", "--prune-layers", "1-99"}, "1-99"),
      Flag("prune_source_alone", {"--prune-source", "2"}, "--prune-source"),
      Flag("type_of_later", {"--type", "int8"}, "--type int8 is not in this version yet"),
      Call("serve_of_later", {"serve", "--port", "80"}, "serve"),
      Call("calibrate_stray_word", {"calibrate", "x"}, "x"),
      Call("calibrate_unknown_metric", CalibrateC({"--metric", "best"}), "best"),
      Call("calibrate_unknown_pooling", CalibrateC({"--pooling", "most"}), "most"),
      Call("calibrate_too_many_drafters", CalibrateC({"--drafters", "1000"}), "--drafters 1000"),
      Call("calibrate_top_of_nothing", CalibrateC({"--top", "0"}), "--top"),
      Call("calibrate_more_sets_than_prompts", CalibrateC({"--sets", "5"}), "--sets 5"),
      Call("calibrate_into_a_missing_folder", CalibrateC({"-o", "nowhere/plan.json"}), "nowhere"),
      Call("calibrate_figure_of_no_layer", CalibrateC({"--figures", "f", "--figure-layers", "99"}),
           "--figure-layers 99"),
      Call("calibrate_figure_layers_alone", CalibrateC({"--figure-layers", "0"}), "--figures"),
      Call("calibrate_over_its_model", CalibrateC({"-o", Base("model.safetensors")}), "model.safetensors"),
      Call("convert_plan_missing", ConvertC({"-o", "x.safetensors", "--plan", "nowhere.json"}),
           "nowhere.json"),
      Call("eval_without_prompt", {"eval", "-m", Base("model.safetensors")}, "no prompt"),
      Call("eval_kv_unknown", EvalC({"--kv", "snapkv,lru"}), "lru"),
      Call("eval_kv_open_list", EvalC({"--kv", "snapkv,"}), "policy"),
      Call("eval_budget_of_nothing", EvalC({"--kv", "snapkv", "--kv-budget", "10%,0%"}), "--kv-budget 0%"),
      Call("eval_scalekv_without_plan", EvalC({"--kv", "snapkv,scalekv"}), "calibrate"),
      Call("eval_prune_unknown", EvalC({"--prune", "none,slowvar"}), "slowvar"),
      Call("eval_ratios_of_no_scale", EvalC({"--prune-ratios", "3=0.5;99=0.5"}), "scale 99"),
      Call("eval_with_bits_to_save", EvalC({"--save-bits", "b.safetensors"}), "--save-bits"),
      Call("eval_twice_the_same", EvalC({"--kv", "snapkv,snapkv", "-o", "out"}), "snapkv 10%"),
      Call("eval_report_into_no_folder", EvalC({"--report", "nowhere/r.json"}), "nowhere"),
      {.name = "eval_of_a_line_with_a_policy",
       .make = Text("prompts.jsonl", "{\"prompt\": \"x\", \"kv\": \"snapkv\"}\n"),
       .arguments = {"eval", "-m", Base("model.safetensors"), "--prompts", "prompts.jsonl", "--pixels",
                     "0.06M"},
       .exit_statuses = {2},
       .says = "prompts.jsonl"},
      {.name = "eval_folder_is_a_file",
       .make = Text("out", "mine"),
       .arguments = EvalC({"-o", "out"}),
       .exit_statuses = {1, 2},
       .says = "out"},
      {.name = "eval_memory_limit_hopeless",
       .arguments = EvalC({"--kv", "snapkv", "--memory-limit", "1M"}),
       .exit_statuses = {1},
       .says = "this needs"},
      Call("convert_to_int8", ConvertC({"-o", "x.safetensors", "--type", "int8"}), "int8"),
      Call("convert_without_output", ConvertC({}), "--output"),
      Call("convert_preset_unknown", ConvertC({"-o", "x.safetensors", "--preset", "wheels=4"}), "wheels=4"),
      Call("convert_preset_of_no_number", ConvertC({"-o", "x.safetensors", "--preset", "tau=warm"}),
           "--preset tau=warm"),
      Call("convert_preset_out_of_range", ConvertC({"-o", "x.safetensors", "--preset", "tau=-1"}),
           "--preset tau=-1"),
      Call("convert_preset_without_value", ConvertC({"-o", "x.safetensors", "--preset", "cfg"}),
           "--preset cfg"),
      Call("convert_trained_at_no_size", ConvertC({"-o", "x.safetensors", "--trained-pixels", "7M"}), "7M"),
      Call("bench_of_no_preset", {"bench", "--preset", "infinity-3b"}, "infinity-3b"),
      Call("completion_of_no_shell", {"completion", "fish"}, "fish"),
  };
}

std::vector<BadInput> BadPlaces() {
  const std::string model = Base("model.safetensors");
  std::vector<BadInput> rows = {
      Flag("unknown_ending", {"-o", "out.gif"}, "out.gif"),
      Flag("no_ending", {"-o", "/dev/full"}, "/dev/full"),
      Flag("no_such_folder", {"-o", "nowhere/out.png"}, "nowhere"),
      Flag("several_pictures_one_name", {"--count", "2"}, "out-%04d.png"),
      Flag("wrong_number_field", {"-o", "%s.png"}, "%s.png"),
      Flag("grid_of_no_format", {"--grid", "grid.tiff"}, "grid.tiff"),
      Flag("grid_on_the_picture", {"--grid", "out.png"}, "out.png"),
      Flag("bits_on_the_picture", {"--save-bits", "out.png"}, "out.png"),
      {.name = "proc",
       .arguments = GenerateC({"-o", "/proc/out.png"}),
       .exit_statuses = {1},
       .says = "/proc"},
      {.name = "report_in_proc",
       .arguments = GenerateC({"--report", "/proc/report.json"}),
       .exit_statuses = {1},
       .says = "/proc"},
      {.name = "preview_in_a_file",
       .make = Text("preview", "mine"),
       .arguments = GenerateC({"--preview", "preview"}),
       .exit_statuses = {1, 2},
       .says = "preview"},
      {.name = "folder_that_is_a_file",
       .make = Text("file", "mine"),
       .arguments = GenerateC({"-o", "file/out.png"}),
       .exit_statuses = {2},
       .says = "file"},
      {.name = "report_on_a_folder",
       .make = Text("folder/file", "mine"),
       .arguments = GenerateC({"--report", "folder"}),
       .exit_statuses = {2},
       .says = "folder"},
      {.name = "picture_on_an_input",
       .make = Copy(model, "model.png"),
       .arguments = GenerateWith("model.png", {"-o", "model.png"}),
       .exit_statuses = {2},
       .says = "model.png"},
      {.name = "convert_onto_a_file",
       .make = Text("package.safetensors", "mine"),
       .arguments = ConvertC({"-o", "package.safetensors"}),
       .exit_statuses = {2},
       .says = "--force"},
      {.name = "convert_to_a_device",
       .arguments = ConvertC({"-o", "/dev/full", "--force"}),
       .exit_statuses = {1, 2},
       .says = "/dev/full"},
      {.name = "convert_onto_its_input",
       .make = Copy(model, "m.safetensors"),
       .arguments = {"convert", "-m", "m.safetensors", "-o", "m.safetensors", "--force"},
       .exit_statuses = {2},
       .says = "m.safetensors"},
      {.name = "convert_into_no_folder",
       .arguments = ConvertC({"-o", "nowhere/package.safetensors"}),
       .exit_statuses = {2},
       .says = "nowhere"},
      {.name = "convert_into_proc",
       .arguments = ConvertC({"-o", "/proc/package.safetensors"}),
       .exit_statuses = {1},
       .says = "/proc/package.safetensors"},
      {.name = "convert_on_a_full_disk",
       .arguments = ConvertC({"-o", "package.safetensors"}),
       .exit_statuses = {1},
       .says = "package.safetensors",
       .largest_file = 1 << 20},
      {.name = "picture_on_a_full_disk",
       .arguments = GenerateC({}),
       .exit_statuses = {1},
       .says = "out.png",
       .largest_file = 1000},
      {.name = "bits_on_a_full_disk",
       .arguments = {"tokenize", Base("picture.png"), "-o", "b.safetensors", "--vae",
                     Golden("models/c/vae.pth")},
       .exit_statuses = {1},
       .says = "b.safetensors",
       .largest_file = 1000},
      {.name = "bits_to_a_device",
       .arguments = {"tokenize", Base("picture.png"), "-o", "/dev/full", "--vae", Golden("models/c/vae.pth")},
       .exit_statuses = {1, 2},
       .says = "/dev/full"},
  };
  const std::vector<std::vector<std::string>> printing = {{"inspect", model, "--json"},
                                                          {"inspect", model},
                                                          {"metadata", Base("picture.png")},
                                                          GenerateC({"--plan"})};
  for (size_t i = 0; i < printing.size(); ++i) {
    rows.push_back({.name = "standard_output_is_full_" + std::to_string(i),
                    .arguments = printing[i],
                    .exit_statuses = {1},
                    .says = "standard output",
                    .output = "/dev/full"});
  }
  for (const char* flag : {"--report", "--save-bits"}) {
    rows.push_back({.name = std::string("device_as_") + (flag[2] == 'r' ? "report" : "bits"),
                    .arguments = GenerateC({flag, "/dev/full"}),
                    .exit_statuses = {1, 2},
                    .says = "/dev/full"});
  }
  return rows;
}

std::vector<BadInput> BadPrompts() {
  const auto works = [](const std::string& name, const std::string& prompt, const std::string& says) {
    return BadInput{.name = name, .arguments = GenerateC({"-p", prompt}), .exit_statuses = {0}, .says = says};
  };
  std::string words;
  for (int i = 0; i < 15000; ++i) words += "apple ";
  return {
      works("empty", "", ""),
      works("very_long", words, "cut"),
      {.name = "blank_emoji_and_odd_characters",
       .make = Text("prompts.jsonl",
                    "{\"prompt\": \" \\t \\n\"}\n"
                    "\xf0\x9f\x8d\x8e\xe2\x80\x8d\xf0\x9f\x8d\x8f \xe2\x96\x81\xc2\xa0\xe3\x80\x80 "
                    "\xef\xbf\xbf \x01\x7f\n"
                    "<extra_id_0></s><pad>\n"
                    "{\"prompt\": \"\\u0065\\u0301\\ufb01 {}[] %s%n\"}\n"),
       .arguments = GenerateC({"--prompts", "prompts.jsonl", "-b", "4", "-o", "%d.png"}),
       .exit_statuses = {0}},
      Flag("broken_utf8", {"-p", "caf\xe9"}, "UTF-8"),
      Flag("overlong_utf8", {"-p", "\xc0\xaf"}, "UTF-8"),
      Flag("surrogate_as_utf8", {"-p", "\xed\xa0\x80"}, "UTF-8"),
      Flag("broken_utf8_in_the_negative", {"-n", "\xff", "--cfg", "3"}, "UTF-8"),
      Flag("prompt_and_prompts", {"-p", "x", "--prompts", "p.txt"}, "--prompts"),
      Flag("missing_file", {"--prompts", "nowhere.txt"}, "nowhere.txt"),
      Flag("folder_as_file", {"--prompts", "/"}, "/"),
      Flag("empty_standard_input", {"--prompts", "-"}, "standard input"),
      Lines("empty_file", "", "prompts.jsonl"),
      Lines("blank_file", "\n \n\t\n", "prompts.jsonl"),
      Lines("broken_utf8_in_a_file", "fine\ncaf\xe9\n", "line 2"),
      Lines("cut_json", "fine\n{\"prompt\": \"a\"}\n{\"prompt\": \"b\n", "line 3"),
      Lines("json_without_prompt", "{\"seed\": 1}\n", "line 1"),
      Lines("json_of_unknown_setting", "{\"prompt\": \"a\", \"wheels\": 4}\n", "wheels"),
      Lines("json_prompt_is_a_number", "{\"prompt\": 5}\n", "line 1"),
      Lines("json_seed_is_negative", "\n{\"prompt\": \"a\", \"seed\": -1}\n", "line 2"),
      Lines("json_seed_is_too_large", "{\"prompt\": \"a\", \"seed\": 18446744073709551616}\n", "line 1"),
      Lines("json_cfg_is_an_object", "{\"prompt\": \"a\", \"cfg\": {}}\n", "line 1"),
      Lines("json_cfg_of_2_scales", "{\"prompt\": \"a\", \"cfg\": [1, 2]}\n", "line 1"),
      Lines("json_size_is_wrong", "{\"prompt\": \"a\", \"size\": \"0x0\"}\n", "line 1"),
      Lines("json_output_is_nowhere", "{\"prompt\": \"a\", \"output\": \"nowhere/a.png\"}\n", "nowhere"),
      Lines("json_uncond_until_no_scale", "{\"prompt\": \"a\", \"uncond_until\": 13}\n", "line 1"),
      Lines("json_deeply_nested", "{\"prompt\": " + std::string(200000, '[') + "\n", "line 1"),
      Lines("json_nul", "{\"prompt\": \"a\\u0000b\"}\n", "line 1"),
      Lines("nul_in_a_line", std::string("fine\na\0b\n", 9), "line 2"),
      Lines("two_lines_one_output",
            "{\"prompt\": \"a\", \"output\": \"a.png\"}\n{\"prompt\": \"b\", \"output\": \"a.png\"}\n",
            "a.png"),
  };
}

}  // namespace nextscale
