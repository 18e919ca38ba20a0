// Files made up by tests: folders that vanish, safetensors, torch's zip archives and pickles, right or wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace nextscale::testing {

class TempFolder {
 public:
  TempFolder() {
    // In memory where there is such a folder: some tests write thousands of files.
    std::error_code error;
    const std::filesystem::path shm = "/dev/shm";
    const std::filesystem::path root =
        std::filesystem::is_directory(shm, error) ? shm : std::filesystem::temp_directory_path();
    std::string name = (root / "nextscale-test-XXXXXX").string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  // The path of a file that holds `bytes`; sub-folders are made.
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  std::string path(const std::string& name = "") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename T>
std::string Little(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string Safetensors(const std::string& header, const std::string& data) {
  return Little<uint64_t>(header.size()) + header + data;
}
// One f32 tensor of one element for each name, in one file.
inline std::string TinySafetensors(const std::vector<std::string>& names) {
  std::string header = "{", data;
  for (const std::string& name : names) {
    header += (data.empty() ? "\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 4) + "]}";
    data += Little(static_cast<float>(data.size()));
  }
  return Safetensors(header + "}", data);
}

// ---- zip, as torch writes it: stored entries; zip64 fields if asked
struct ZipEntry {
  std::string name, bytes;
  uint16_t method = 0;
};
inline std::string Zip(const std::vector<ZipEntry>& entries, bool zip64 = false) {
  std::string out, directory;
  for (const ZipEntry& e : entries) {
    const uint64_t at = out.size(), size = e.bytes.size();
    out += Little<uint32_t>(0x04034b50) + Little<uint16_t>(20) + Little<uint16_t>(0) + Little(e.method) +
           std::string(8, '\0') + Little<uint32_t>(size) + Little<uint32_t>(size) +
           Little<uint16_t>(e.name.size()) + Little<uint16_t>(0) + e.name + e.bytes;
    const std::string extra =
        zip64 ? Little<uint16_t>(1) + Little<uint16_t>(24) + Little(size) + Little(size) + Little(at) : "";
    const uint32_t size32 = zip64 ? 0xffffffff : static_cast<uint32_t>(size);
    directory += Little<uint32_t>(0x02014b50) + Little<uint16_t>(20) + Little<uint16_t>(20) +
                 Little<uint16_t>(0) + Little(e.method) + std::string(8, '\0') + Little(size32) +
                 Little(size32) + Little<uint16_t>(e.name.size()) + Little<uint16_t>(extra.size()) +
                 std::string(10, '\0') + Little<uint32_t>(zip64 ? 0xffffffff : static_cast<uint32_t>(at)) +
                 e.name + extra;
  }
  const uint64_t start = out.size(), n = entries.size();
  out += directory;
  if (zip64) {
    const uint64_t end64 = out.size();
    out += Little<uint32_t>(0x06064b50) + Little<uint64_t>(44) + Little<uint16_t>(45) + Little<uint16_t>(45) +
           std::string(8, '\0') + Little(n) + Little(n) + Little<uint64_t>(directory.size()) + Little(start);
    out += Little<uint32_t>(0x07064b50) + Little<uint32_t>(0) + Little(end64) + Little<uint32_t>(1);
  }
  return out + Little<uint32_t>(0x06054b50) + Little<uint32_t>(0) + Little<uint16_t>(zip64 ? 0xffff : n) +
         Little<uint16_t>(zip64 ? 0xffff : n) + Little<uint32_t>(directory.size()) +
         Little<uint32_t>(zip64 ? 0xffffffff : static_cast<uint32_t>(start)) + Little<uint16_t>(0);
}

// ---- pickle, protocol 2
inline std::string Text(std::string_view text) {
  return "X" + Little<uint32_t>(text.size()) + std::string(text);
}
inline std::string Int(int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) return "J" + Little<int32_t>(value);
  return std::string("\x8a\x08") + Little(value);
}
inline std::string Tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (int64_t v : values) out += Int(v);
  return out + "t";
}
struct PickledTensor {
  std::string name, storage_class, storage;
  int64_t elements = 0, offset = 0;
  std::vector<int64_t> shape, strides;
};
inline std::string Pickled(const PickledTensor& t) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") + "ctorch\n" + t.storage_class + "\n" +
         Text(t.storage) + Text("cpu") + Int(t.elements) + "tQ" + Int(t.offset) + Tuple(t.shape) +
         Tuple(t.strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}
// A state dict, without the PROTO and STOP around it.
inline std::string StateDict(const std::vector<PickledTensor>& tensors) {
  std::string out = "ccollections\nOrderedDict\n)R(";
  for (const PickledTensor& t : tensors) out += Text(t.name) + Pickled(t);
  return out + "u";
}
inline std::string Whole(const std::string& pickle) { return "\x80\x02" + pickle + "."; }
inline std::string TorchFile(const std::string& whole_pickle, const std::vector<std::string>& storages,
                             bool zip64 = false) {
  std::vector<ZipEntry> entries = {{"archive/data.pkl", whole_pickle}, {"archive/byteorder", "little"}};
  for (size_t i = 0; i < storages.size(); ++i)
    entries.push_back({"archive/data/" + std::to_string(i), storages[i]});
  entries.push_back({"archive/version", "3\n"});
  return Zip(entries, zip64);
}

}  // namespace nextscale::testing
