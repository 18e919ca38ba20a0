// Runs a fuzz target without libFuzzer: files or folders named on the command line (the corpus of a fuzz run,
// a crash to look at), or else copies of its seeds and of the files in tests/fuzz/corpus/NAME, cut short and
// with bytes changed.
//   replay_NAME [PATH …] | --corpus FOLDER (writes the unchanged seeds there, for libFuzzer)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>

#include "tests/checkpoint/files.h"
#include "tests/fuzz/fuzz_target.h"

namespace nextscale::fuzz {
namespace {

constexpr int kChanged = 400, kCut = 100;   // copies a seed
constexpr size_t kMostSeedBytes = 200'000;  // of a corpus: larger ones cost libFuzzer its speed

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string TinyPickle() {
  using namespace nextscale::testing;
  const std::string state = StateDict({{"word_embed.weight", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}},
                                       {"blocks.0.ada_gss", "HalfStorage", "1", 4, 1, {3}, {1}}});
  return Whole("}(" + Text("trainer") + "}(" + Text("gpt_fsdp") + state + "uu");
}
std::string TinyTorch(bool zip64) {
  return testing::TorchFile(TinyPickle(), {std::string(24, '\x3c'), std::string(8, '\x3c')}, zip64);
}

// "#…": made up here. "file#data.pkl": the pickle inside (stored as it is, up to the next entry).
std::string Seed(const std::string& name) {
  if (name == "#pickle") return TinyPickle();
  if (name == "#torch") return TinyTorch(false);
  if (name == "#torch zip64") return TinyTorch(true);
  if (name == "#safetensors") return testing::TinySafetensors({"word_embed.weight", "blocks.0.ada_gss"});
  if (name == "#package") {
    return R"({"version":1,"name":"x","options":{"block_chunks":"2"},"presets":{"cfg":"3"},"trained_pixels":"1M"})";
  }
  if (name == "#plan") {
    return R"({"nextscale_plan":1,"model":")" + std::string(64, 'a') +
           R"(","depth":2,"schedule":[[1,1],[2,2]],"top":8,"drafter_count":1,"refiner_start":null,"decay":7,)"
           R"("window":16,"pooling":"average","metric":"asi","prompts":["x"],"seed":1,"current":[[1,1],[0.5,1e-3]],)"
           R"("top_ratio":[[0,0],[1,1]],"asi":[[0,0],[1,1]],"z":[[0,0],[-1,1]],"drafters":[[1,0]],)"
           R"("stability":[{"prompts":1,"overlap":0.5}],"asi_heads":[[[0],[0]],[[1],[0.25]]]})";
  }
  if (name == "#budgets")
    return R"({"Scale 2":{"Block 0":1,"Block 1":0,"Max":30,"Min":10},"Scale 3":{"Block 0":0,"Block 1":1,"Max":9,"Min":4}})";
  const size_t mark = name.find('#');
  std::string bytes =
      ReadAll(std::string(NEXTSCALE_SOURCE_DIR) + "/tests/golden/models/" + name.substr(0, mark));
  if (mark != name.npos) {
    const size_t begin = bytes.find("\x80\x02"), end = bytes.find("PK\x03\x04", begin);
    bytes = begin == bytes.npos ? "" : bytes.substr(begin, end - begin);
  }
  if (bytes.empty()) {
    std::fprintf(stderr, "no seed %s\n", name.c_str());
    std::exit(1);
  }
  return bytes;
}

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::vector<std::filesystem::path> Files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// What a parser reads lies at the ends (headers, directories): half of the places are there.
size_t Place(std::mt19937& random, size_t size) {
  const size_t edge = std::min<size_t>(size, 4096);
  switch (random() % 4) {
    case 0:
      return random() % edge;
    case 1:
      return size - 1 - random() % edge;
    default:
      return random() % size;
  }
}

void RunChangedCopies(const std::string& seed) {
  std::mt19937 random(1);
  Run(seed);
  if (seed.empty()) return;
  for (int i = 0; i < kCut; ++i) Run(seed.substr(0, Place(random, seed.size())));
  std::string copy = seed;
  for (int i = 0; i < kChanged; ++i) {
    std::vector<std::pair<size_t, char>> undo;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const size_t at = Place(random, copy.size());
      undo.push_back({at, copy[at]});
      copy[at] = static_cast<char>(random() % 2 ? copy[at] ^ (1 << random() % 8) : random());
    }
    Run(copy);
    for (size_t n = undo.size(); n-- > 0;) copy[undo[n].first] = undo[n].second;
  }
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--corpus") {
    int n = 0;
    for (const std::string& name : Seeds()) {
      const std::string bytes = Seed(name);
      const std::string path = std::string(argv[2]) + "/seed" + std::to_string(n++);
      if (bytes.size() <= kMostSeedBytes) std::ofstream(path, std::ios::binary) << bytes;
    }
    return 0;
  }
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i]))
      Run(ReadAll(argv[i]));
    else
      for (const auto& path : Files(argv[i])) Run(ReadAll(path));
  }
  if (argc == 1) {
    for (const std::string& name : Seeds()) RunChangedCopies(Seed(name));
    for (const auto& path : Files(NEXTSCALE_SOURCE_DIR "/tests/fuzz/corpus/" NEXTSCALE_FUZZ_TARGET))
      RunChangedCopies(ReadAll(path));
  }
  return 0;
}

}  // namespace
}  // namespace nextscale::fuzz

int main(int argc, char** argv) { return nextscale::fuzz::Main(argc, argv); }
