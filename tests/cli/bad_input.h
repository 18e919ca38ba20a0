// A wrong call of the program, or a call with broken files: what is made, what is called, what must come of
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nextscale {

using Make = std::function<void()>;  // makes files in the current folder

struct BadInput {
  std::string name;  // letters, digits and _: the test's name
  Make make;
  std::vector<std::string> arguments;
  std::vector<int> exit_statuses;  // any of these
  std::string says;                // part of standard error: the file, tensor or flag at fault
  int64_t largest_file = 0;        // bytes a file may grow to (a full disk); 0: any
  std::string output;              // where standard output goes, if not to a file of the test
};

// A folder of files that cases start from, made once by the program itself: model.safetensors (golden model c
// and its text encoder in f32), picture.png, .jpg and .webp with their settings, and the tokens
// bits.safetensors.
std::string Base(const std::string& name);
std::string Golden(const std::string& name);

// Arguments: `generate` with a package, with golden model c, and with c where one part is another path; all
// with a small size and the output out.png, unless `more` says another.
std::vector<std::string> GenerateWith(const std::string& package, std::vector<std::string> more = {});
struct Parts {
  std::string transformer, vae, text;
};
std::vector<std::string> GenerateParts(const Parts& parts, std::vector<std::string> more = {});
std::vector<std::string> GenerateC(std::vector<std::string> more);

// The tables.
std::vector<BadInput> BadCalls();        // flags, values, sizes, later versions
std::vector<BadInput> BadPlaces();       // outputs that cannot be
std::vector<BadInput> BadPrompts();      // texts, prompt files
std::vector<BadInput> DamagedFiles();    // cut and with flipped bits, all kinds
std::vector<BadInput> BadCheckpoints();  // parts that are missing, misshapen, doubled, of another model
std::vector<BadInput> HostilePickles();  // pickles that would call something
std::vector<BadInput> BadNumbers();      // weights that are not finite
std::vector<BadInput> BadPictures();     // tokenize, reconstruct, metadata, parity

}  // namespace nextscale
