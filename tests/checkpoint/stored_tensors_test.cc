// Reading from a mapped file by several threads: the right numbers, and no second copy left in memory.
#include "checkpoint/stored_tensors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "base/threads.h"
#include "checkpoint/safetensors.h"
#include "tests/checkpoint/files.h"

namespace nextscale {
namespace {

using namespace nextscale::testing;

constexpr int64_t kRows = 4096, kColumns = 4096, kBytes = kRows * kColumns * 4;

TEST(StoredTensors, ThreadsReadTilesAndGiveThePagesBack) {
  const TempFolder folder;
  std::vector<float> row(kColumns);
  std::string data;
  data.reserve(kBytes);
  for (int64_t r = 0; r < kRows; ++r) {
    std::iota(row.begin(), row.end(), static_cast<float>(r));
    data += BytesOf(row);
  }
  const std::string path = folder.Write(
      "m.safetensors",
      Safetensors(R"({"w":{"dtype":"F32","shape":[4096,4096],"data_offsets":[0,67108864]}})", data));
  data = {};
  const auto file = ReadSafetensors(path);
  ASSERT_TRUE(file.ok()) << ErrorText(file.status());
  const auto source = *StoredTensors::Create(path, file->tensors);
  const TensorInfo& info = *source->Find("w");

  for (const int64_t tile : {17, 500}) {
    const int64_t before = ResidentBytes(), tiles = (kRows + tile - 1) / tile;
    std::atomic<int64_t> wrong{0};
    ParallelFor(tiles, [&](int64_t i, int) {
      const int64_t begin = i * tile, end = std::min(kRows, begin + tile);
      std::vector<float> out(static_cast<size_t>((end - begin) * kColumns));
      if (!source->ReadRows(info, begin, end, DType::kF32, out.data()).ok()) ++wrong;
      for (int64_t r = begin; r < end; ++r)
        wrong += out[(r - begin) * kColumns] != static_cast<float>(r) ||
                 out[(r - begin) * kColumns + kColumns - 1] != static_cast<float>(r + kColumns - 1);
    });
    EXPECT_EQ(wrong, 0);
    // What is left of 64 MiB: the heap of the buffers above, at most a tile a thread (the sanitizers keep
    // more).
    EXPECT_LT(ResidentBytes() - before, kBytes / 2) << tile;
  }
}

}  // namespace
}  // namespace nextscale
