#include "tests/fuzz/fuzz_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "checkpoint/model_files.h"

namespace nextscale::fuzz {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of a read: the target is the parser, not the copy

struct TemporaryFolder {
  TemporaryFolder() {
    std::string name =
        std::filesystem::exists("/dev/shm") ? "/dev/shm/nextscale-fuzz-XXXXXX" : "/tmp/nextscale-fuzz-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    path = name + "/";
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::string path;
};

void Read(const TensorSource* source) {
  if (!source) return;
  std::vector<float> row;
  for (const TensorInfo* info : source->List()) {
    const int64_t rows = info->shape.rank() ? info->shape[0] : 1;
    if (rows == 0 || !IsFloat(info->dtype) || info->shape.elements() / rows > kMostElements) continue;
    row.resize(static_cast<size_t>(info->shape.elements() / rows));
    for (const int64_t r : {int64_t{0}, rows / 2, rows - 1}) {
      if (!source->ReadRows(*info, r, r + 1, DType::kF32, row.data()).ok()) std::abort();
    }
  }
}

}  // namespace

const std::string& Folder() {
  static const TemporaryFolder folder;
  return folder.path;
}

std::string Write(const std::string& name, const uint8_t* data, size_t size) {
  const std::string path = Folder() + name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  ::close(fd);
  return path;
}

void OpenAndRead(const std::string& transformer, const std::string& model) {
  const StatusOr<ModelFiles> files = OpenModel({.model = model, .transformer = transformer});
  if (!files.ok()) {
    if (files.status().message().empty()) std::abort();
    return;
  }
  Read(files->transformer.get());
  Read(files->vae.get());
  Read(files->text.get());
}

}  // namespace nextscale::fuzz
