// Files of every kind, cut short and with flipped bits.
#include <fmt/format.h>

#include <cstdlib>

#include "bad_input.h"
#include "broken_files.h"

namespace nextscale {
namespace {

std::vector<std::string> Inspect(const std::string& path) { return {"inspect", path}; }

// `inspect` reads what tells the shape; `convert` reads all values.
std::vector<std::string> ConvertAll(const std::string& path) {
  return {"convert", "-m", path, "--type", "f32", "-o", "out.safetensors"};
}

// A file cut at several lengths, and with bits flipped at several places (a flip may go unnoticed).
struct Kind {
  std::string name, from, file;  // `file` is made in the current folder, beside what `beside` makes
  Make beside;
  std::string says;
  std::vector<std::string> arguments;
  std::vector<int64_t> lengths, flips;
};

std::vector<BadInput> Damage(const Kind& kind) {
  std::vector<BadInput> rows;
  const auto place = [](int64_t at) {
    return at < 0 ? fmt::format("{}_from_the_end", -at) : fmt::format("{}", at);
  };
  const auto make = [&](Make damage) { return kind.beside ? All({kind.beside, damage}) : damage; };
  for (const int64_t length : kind.lengths) {
    rows.push_back({.name = fmt::format("{}_cut_at_{}", kind.name, place(length)),
                    .make = make(Cut(kind.from, kind.file, length)),
                    .arguments = kind.arguments,
                    .exit_statuses = {1, 2},
                    .says = kind.says});
  }
  for (const int64_t at : kind.flips) {
    rows.push_back({.name = fmt::format("{}_flipped_at_{}", kind.name, place(at)),
                    .make = make(FlipBit(kind.from, kind.file, at, static_cast<int>(std::abs(at) % 8))),
                    .arguments = kind.arguments,
                    .exit_statuses = {0, 1, 2}});
  }
  return rows;
}

}  // namespace

std::vector<BadInput> DamagedFiles() {
  const std::string model = Base("model.safetensors"), pth = Golden("models/c/transformer.pth"),
                    t5 = Golden("models/t5-a"), d = Golden("models/d/transformer");
  const Make t5_copy = Copy(t5, "t5");
  std::vector<BadInput> rows;
  for (const Kind& kind : std::vector<Kind>{
           {"package",
            model,
            "m.safetensors",
            {},
            "m.safetensors",
            ConvertAll("m.safetensors"),
            {0, 4, 8, 100, 27000, 100000, -1},
            {0, 3, 7, 8, 20, 150, 400, 5000, 1000000}},
           {"pth",
            pth,
            "t.pth",
            {},
            "t.pth",
            {"convert", "-m", "t.pth", "-o", "out.safetensors"},
            {0, 2, 30, 10000, 500000, -22, -100, -5000},
            {1, 27, 70, 100, 300, 5000, 400000, -20, -10, -60, -3000}},
           {"vae_pth",
            Golden("models/c/vae.pth"),
            "vae.pth",
            {},
            "vae.pth",
            {"inspect", "vae.pth"},
            {1, 20000, -1000},
            {90, 2000, -6}},
           {"index",
            d + "/model.safetensors.index.json",
            "shards/model.safetensors.index.json",
            Copy(d, "shards"),
            "index.json",
            Inspect("shards"),
            {0, 1, 100, -3},
            {0, 50, 300, -2}},
           {"shard",
            d + "/model-00002-of-00003.safetensors",
            "shards/model-00002-of-00003.safetensors",
            Copy(d, "shards"),
            "model-00002-of-00003.safetensors",
            Inspect("shards"),
            {0, 7, 1000, -1},
            {5, 40}},
           {"config",
            t5 + "/config.json",
            "t5/config.json",
            t5_copy,
            "config.json",
            Inspect("t5"),
            {0, 1, 200, -1},
            {0, 70, 100, 250}},
           {"spiece",
            t5 + "/spiece.model",
            "t5/spiece.model",
            t5_copy,
            "spiece.model",
            GenerateParts({.text = "t5"}, {"--plan"}),
            {0, 1, 5000, -1},
            {0, 5, 1000, -3}},
           {"t5_weights",
            t5 + "/model.safetensors",
            "t5/model.safetensors",
            t5_copy,
            "model.safetensors",
            Inspect("t5"),
            {6, 3000, 500000},
            {2, 700}},
           {"bits",
            Base("bits.safetensors"),
            "b.safetensors",
            {},
            "b.safetensors",
            {"reconstruct", "b.safetensors", "-o", "out.png", "--vae", Golden("models/c/vae.pth")},
            {0, 5, 300, -1},
            {1, 30, 120, -10}},
       }) {
    for (BadInput& row : Damage(kind)) rows.push_back(std::move(row));
  }
  for (const char* ending : {"png", "jpg", "webp"}) {
    const std::string file = fmt::format("p.{}", ending), from = Base(fmt::format("picture.{}", ending));
    for (BadInput& row : Damage({fmt::format("{}_metadata", ending),
                                 from,
                                 file,
                                 {},
                                 file,
                                 {"metadata", file, "--command"},
                                 {0, 10, 60},
                                 {1, 14, 45, 90, 500}}))
      rows.push_back(std::move(row));
    for (BadInput& row :
         Damage({fmt::format("{}_tokenize", ending),
                 from,
                 file,
                 {},
                 file,
                 {"tokenize", file, "-o", "b.safetensors", "--vae", Golden("models/c/vae.pth")},
                 {3, 25, -100},
                 {13, 22, -200}}))
      rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nextscale
