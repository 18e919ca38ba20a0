#include "broken_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace nextscale {
namespace {

namespace fs = std::filesystem;

size_t FromEitherEnd(int64_t at, size_t size) {
  return at < 0 ? size - static_cast<size_t>(-at) : static_cast<size_t>(at);
}

// CRC-32 as zip has it, bit by bit.
uint32_t Crc32(const std::string& bytes) {
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::string LittleEndian(std::initializer_list<std::pair<uint64_t, int>> values_and_widths) {
  std::string out;
  for (const auto& [value, width] : values_and_widths)
    for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

}  // namespace

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder);
  std::ofstream(path, std::ios::binary) << bytes;
}

Make Text(const std::string& to, const std::string& bytes) {
  return [=] { WriteBytes(to, bytes); };
}

Make Copy(const std::string& from, const std::string& to) {
  return [=] { fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing); };
}

Make Cut(const std::string& from, const std::string& to, int64_t length) {
  return [=] {
    const std::string bytes = ReadBytes(from);
    WriteBytes(to, bytes.substr(0, FromEitherEnd(length, bytes.size())));
  };
}

Make FlipBit(const std::string& from, const std::string& to, int64_t byte, int bit) {
  return [=] {
    std::string bytes = ReadBytes(from);
    char& c = bytes.at(FromEitherEnd(byte, bytes.size()));
    c = static_cast<char>(c ^ 1 << bit);
    WriteBytes(to, bytes);
  };
}

Make Swap(const std::string& from, const std::string& to, const std::string& old_text,
          const std::string& new_text) {
  return [=] {
    std::string bytes = ReadBytes(from);
    const size_t at = bytes.find(old_text);
    ASSERT_NE(at, std::string::npos) << old_text << " in " << from;
    WriteBytes(to, bytes.replace(at, old_text.size(), new_text));
  };
}

Make Remove(const std::string& path) {
  return [=] { EXPECT_TRUE(fs::remove(path)) << path; };
}

Make All(std::vector<Make> steps) {
  return [=] {
    for (const Make& step : steps) step();
  };
}

float* LooseTensors::Values(const std::string& tensor) {
  EXPECT_EQ(header.at(tensor).at("dtype"), "F32") << tensor;
  return reinterpret_cast<float*>(body.data() + header.at(tensor).at("data_offsets")[0].get<size_t>());
}

Make Edit(const std::string& from, const std::string& to, std::function<void(LooseTensors&)> edit) {
  return [=] {
    const std::string bytes = ReadBytes(from);
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    LooseTensors tensors{.header = nlohmann::ordered_json::parse(bytes.substr(sizeof length, length)),
                         .body = bytes.substr(sizeof length + length)};
    edit(tensors);
    const std::string header = tensors.header.dump();
    WriteBytes(to, LittleEndian({{header.size(), 8}}) + header + tensors.body);
  };
}

void LooseTensors::Hide(const std::string& tensor) {
  header["hidden." + tensor] = header.at(tensor);
  header.erase(tensor);
}

std::string Zip(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string files, directory;
  for (const auto& [name, content] : members) {
    const size_t offset = files.size();
    const std::string common = LittleEndian({{0, 2},
                                             {0, 2},
                                             {0, 2},
                                             {0x21, 2},
                                             {Crc32(content), 4},
                                             {content.size(), 4},
                                             {content.size(), 4},
                                             {name.size(), 2},
                                             {0, 2}});
    files += "PK\3\4" + LittleEndian({{20, 2}}) + common + name + content;
    directory += "PK\1\2" + LittleEndian({{20, 2}, {20, 2}}) + common +
                 LittleEndian({{0, 2}, {0, 2}, {0, 2}, {0, 4}, {offset, 4}}) + name;
  }
  return files + directory + "PK\5\6" +
         LittleEndian({{0, 4},
                       {members.size(), 2},
                       {members.size(), 2},
                       {directory.size(), 4},
                       {files.size(), 4},
                       {0, 2}});
}

Make PickleFile(const std::string& to, const std::string& opcodes) {
  return Text(to, Zip({{"archive/data.pkl", opcodes}, {"archive/byteorder", "little"}}));
}

}  // namespace nextscale
