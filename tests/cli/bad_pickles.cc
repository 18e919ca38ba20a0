// Pickles that would call something, or are none.
#include "bad_input.h"
#include "broken_files.h"

namespace nextscale {
namespace {

std::vector<std::string> Inspect(const std::string& path) { return {"inspect", path}; }

BadInput Pickle(const std::string& name, const std::string& opcodes, const std::string& says) {
  return {.name = name,
          .make = PickleFile("evil.pth", opcodes),
          .arguments = Inspect("evil.pth"),
          .exit_statuses = {1},
          .says = says};
}

// The pickle that calls `module.function` with the text.
std::string CallOf(const std::string& module, const std::string& function, const std::string& text) {
  return "\x80\x02"
         "c" +
         module + "\n" + function + "\nX" + static_cast<char>(text.size()) + std::string(3, '\0') + text +
         "\x85R.";
}

}  // namespace

std::vector<BadInput> HostilePickles() {
  return {
      Pickle("os_system", CallOf("os", "system", "touch pwned"), "os.system"),
      Pickle("posix_system", CallOf("posix", "system", "touch pwned"), "posix.system"),
      Pickle("builtins_eval", CallOf("builtins", "eval", "open('pwned','w')"), "builtins.eval"),
      Pickle("builtin_exec_of_python2", CallOf("__builtin__", "exec", "open('pwned','w')"),
             "__builtin__.exec"),
      Pickle("subprocess", CallOf("subprocess", "Popen", "touch pwned"), "subprocess.Popen"),
      Pickle("torch_load", CallOf("torch", "load", "other.pth"), "torch.load"),
      Pickle("torch_hub", CallOf("torch.hub", "load", "a/b"), "torch.hub.load"),
      Pickle("reduce_of_something_unknown", CallOf("my.module", "Thing", "x"), "my.module.Thing"),
      Pickle("a_known_function_with_wrong_values", CallOf("torch._utils", "_rebuild_tensor_v2", "x"),
             "evil.pth"),
      Pickle("stack_global", std::string("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0btouch pwned\x85R."),
             "os.system"),
      Pickle("instance", "(S'touch pwned'\nios\nsystem\n.", "evil.pth"),
      Pickle("build_with_state",
             "\x80\x02"
             "cos\npath\n}X\x01" +
                 std::string(3, '\0') +
                 "a"
                 "K\x01sb.",
             "os.path"),
      Pickle("extension_code", std::string("\x80\x02\x82\x05)R."), "evil.pth"),
      Pickle("no_stop", std::string("\x80\x02}q", 4), "evil.pth"),
      Pickle("empty_stack",
             "\x80\x02"
             "R.",
             "evil.pth"),
      Pickle("unknown_opcode", "\x80\x02\xff.", "evil.pth"),
      Pickle("memo_that_is_not_there", "\x80\x02h\x63.", "evil.pth"),
      Pickle("text_beyond_the_end",
             "\x80\x02X\xff\xff\xff\x7f"
             "a.",
             "evil.pth"),
      Pickle("text_of_2_to_the_63",
             "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
             "a.",
             "evil.pth"),
      Pickle("a_long_of_4_GiB", "\x80\x02\x8b\xff\xff\xff\x7f.", "evil.pth"),
      Pickle("a_million_nested_tuples", "\x80\x02)" + std::string(1000000, '\x85') + ".", "evil.pth"),
      Pickle("a_million_marks", "\x80\x02" + std::string(1000000, '(') + ".", "evil.pth"),
      Pickle("a_dictionary_in_itself",
             "\x80\x02}q" + std::string(1, '\0') + "X\x01" + std::string(3, '\0') + "ah" +
                 std::string(1, '\0') + "s.",
             "evil.pth"),
      Pickle("a_number_as_state", "\x80\x02K\x05.", "evil.pth"),
      {.name = "bare_pickle_of_the_old_format",
       .make = Text("evil.pth", CallOf("os", "system", "touch pwned")),
       .arguments = Inspect("evil.pth"),
       .exit_statuses = {1},
       .says = "evil.pth"},
      {.name = "zip_without_a_pickle",
       .make = Text("evil.pth", Zip({{"archive/version", "3"}})),
       .arguments = Inspect("evil.pth"),
       .exit_statuses = {1},
       .says = "data.pkl"},
      {.name = "empty_zip",
       .make = Text("evil.pth", Zip({})),
       .arguments = Inspect("evil.pth"),
       .exit_statuses = {1},
       .says = "evil.pth"},
      {.name = "text_weights_that_call",
       .make = All({Copy(Golden("models/t5-a"), "t5"), Remove("t5/model.safetensors"),
                    PickleFile("t5/pytorch_model.bin", CallOf("os", "system", "touch pwned"))}),
       .arguments = Inspect("t5"),
       .exit_statuses = {1},
       .says = "os.system"},
  };
}

}  // namespace nextscale
