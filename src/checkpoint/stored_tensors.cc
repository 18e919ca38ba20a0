#include "checkpoint/stored_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr int64_t kBlock = 4096;  // elements that pass through the stack when they need gathering or aligning

Status Convert(const std::byte* from, DType from_type, DType to, void* dst, int64_t n) {
  if (from_type == to) {
    std::memcpy(dst, from, static_cast<size_t>(n) * SizeOf(to));
    return absl::OkStatus();
  }
  if (reinterpret_cast<uintptr_t>(from) % SizeOf(from_type) == 0) {
    ConvertFloats(from, from_type, dst, to, n);
    return absl::OkStatus();
  }
  alignas(64) std::array<std::byte, kBlock * 8> block;  // files need not align their tensors
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    std::memcpy(block.data(), from + at * static_cast<int64_t>(SizeOf(from_type)),
                static_cast<size_t>(m) * SizeOf(from_type));
    ConvertFloats(block.data(), from_type,
                  static_cast<std::byte*>(dst) + at * static_cast<int64_t>(SizeOf(to)), to, m);
  }
  return absl::OkStatus();
}

// The system maps up to a large page around what is touched, neighbours' bytes too: whoever reads last in
// such an area gives all of it back. (Releasing a part alone left 110 MB of a 2 GiB file resident after two
// threads.)
constexpr uintptr_t kArea = uintptr_t{2} << 20;

void ReleaseAround(const MappedFile& file, std::span<const std::byte> part) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(file.bytes().data()),
                  last = first + file.bytes().size();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()), end = begin + part.size();
  const uintptr_t from = std::max(first, begin & ~(kArea - 1)),
                  to = std::min(last, (end + kArea - 1) & ~(kArea - 1));
  file.Release(file.bytes().subspan(from - first, to - from));
}

// Elements [begin, end) in row-major order of a tensor with strides.
Status ConvertStrided(const StoredTensor& t, int64_t begin, int64_t end, DType to, void* dst) {
  const int64_t element = static_cast<int64_t>(SizeOf(t.info.dtype));
  const int rank = t.info.shape.rank();
  alignas(64) std::array<std::byte, kBlock * 8> block;
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t m = std::min(kBlock, end - at);
    for (int64_t i = 0; i < m; ++i) {
      int64_t rest = at + i, offset = 0;
      for (int d = rank - 1; d >= 0; --d) {
        offset += rest % t.info.shape[d] * t.strides[d];
        rest /= t.info.shape[d];
      }
      std::memcpy(block.data() + i * element, t.bytes.data() + offset * element, element);
    }
    NS_RETURN_IF_ERROR(Convert(block.data(), t.info.dtype, to,
                               static_cast<std::byte*>(dst) + (at - begin) * static_cast<int64_t>(SizeOf(to)),
                               m));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<const StoredTensors>> StoredTensors::Create(std::string where,
                                                                     std::vector<StoredTensor> tensors) {
  auto source = std::make_shared<StoredTensors>();
  source->where_ = std::move(where);
  for (StoredTensor& t : tensors) {
    std::string name = t.info.name;
    if (!source->tensors_.emplace(name, std::move(t)).second) {
      return FileError(fmt::format("{} holds tensor {} twice", source->where_, name), "",
                       "name one file only");
    }
  }
  return std::shared_ptr<const StoredTensors>(source);
}

const TensorInfo* StoredTensors::Find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second.info;
}

std::vector<const TensorInfo*> StoredTensors::List() const {
  std::vector<const TensorInfo*> out;
  for (const auto& [name, tensor] : tensors_) out.push_back(&tensor.info);
  return out;
}

Status StoredTensors::ReadRows(const TensorInfo& tensor, int64_t begin, int64_t end, DType to,
                               void* dst) const {
  const StoredTensor& t = tensors_.find(tensor.name)->second;
  const int64_t rows = t.info.shape.rank() == 0 ? 1 : t.info.shape[0];
  NS_CHECK(begin >= 0 && begin <= end && end <= rows, "rows {} to {} of {}", begin, end, rows);
  if (t.info.dtype != to && !(IsFloat(t.info.dtype) && (to == DType::kF32 || to == DType::kBF16))) {
    return FileError(fmt::format("{}: tensor {} is of type {}", where_, tensor.name, Name(t.info.dtype)),
                     fmt::format("{} was expected", Name(to)));
  }
  const int64_t row = rows == 0 ? 0 : t.info.shape.elements() / rows;
  if (row == 0) return absl::OkStatus();
  if (!t.strides.empty()) {
    NS_RETURN_IF_ERROR(ConvertStrided(t, begin * row, end * row, to, dst));
    ReleaseAround(*t.file, t.bytes);
    return absl::OkStatus();
  }
  const int64_t element = static_cast<int64_t>(SizeOf(t.info.dtype));
  const std::span<const std::byte> part =
      t.bytes.subspan(begin * row * element, (end - begin) * row * element);
  NS_RETURN_IF_ERROR(Convert(part.data(), t.info.dtype, to, dst, (end - begin) * row));
  ReleaseAround(*t.file, part);
  return absl::OkStatus();
}

StatusOr<int64_t> CheckedBytes(std::span<const int64_t> dims, DType dtype, const std::string& what) {
  int64_t bytes = static_cast<int64_t>(SizeOf(dtype));
  for (int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes))
      return FileError(what + " has an impossible shape");
  }
  return bytes;
}

}  // namespace nextscale
