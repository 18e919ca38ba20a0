// What the fuzz targets share. Each target is one function over bytes; libFuzzer calls it (preset `fuzz`),
// and so does replay_main.cc, which feeds it changed copies of the golden files in ctest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace nextscale::fuzz {

// What the target's input looks like: files relative to tests/golden/models, or names that replay_main.cc
// knows.
std::vector<std::string> Seeds();

// A folder of this process in memory, removed at exit; "/dev/shm/…/".
const std::string& Folder();
// Writes the bytes under that name in the folder. -> path
std::string Write(const std::string& name, const uint8_t* data, size_t size);
// Opens a model there and reads a few rows of every tensor, as a loader would; an error must have words.
void OpenAndRead(const std::string& transformer, const std::string& model);

}  // namespace nextscale::fuzz
