// What the engine needs of oneDNN 2.6, and the only place besides *_cpu.cc files that sees its API: matrix
// products of one tile on one thread, and helpers for whoever makes other primitives.
#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "base/check.h"
#include "base/threads.h"
#include "tensor/dtype.h"

namespace nextscale::onednn {

dnnl::memory::data_type TypeOf(DType type);  // f32 or bf16
dnnl::engine Engine();

// Runs body; an exception of oneDNN is a bug of the caller: it aborts with `what` and oneDNN's message.
template <class Body>
auto Checked(const char* what, const Body& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    CheckFailed(__FILE__, __LINE__, what, error.what());
  }
}

// A primitive is made for as many threads as oneDNN may use at that moment; `body` makes its own for one.
template <class Body>
void OnOneThread(const Body& body) {
  ParallelFor(1, [&](int64_t, int) {
    SetMaxThreads(1);  // of this region only
    body();
  });
}

// How one tile of weights W [N, K] lies in memory: as oneDNN wants it for products of many rows by one
// thread.
class WeightTile {
 public:
  WeightTile() = default;
  // Products are made in `operand`; the elements are kept in `stored`, in the same order.
  WeightTile(int64_t N, int64_t K, DType operand, DType stored);

  size_t bytes() const { return stored_.get_size(); }
  size_t elements() const { return bytes() / SizeOf(stored_type_); }  // padding included
  int64_t N() const { return N_; }
  int64_t K() const { return K_; }
  const dnnl::memory::desc& operand() const { return operand_; }
  // Lays W's rows [N, K], dense, in the stored type, out as `to`. Inside a parallel region, on the calling
  // thread.
  void Pack(const void* rows_NK, void* to) const;

 private:
  int64_t N_ = 0, K_ = 0;
  DType stored_type_ = DType::kF32;
  // Of a layout that is packed by hand, else 0. (oneDNN's reorder takes 1.7 GB/s a core for K = 2048 in bf16,
  // and 0.06 GB/s without AVX-512; by hand 6.)
  int64_t block_columns_ = 0;
  dnnl::memory::desc operand_, stored_, rows_;
  dnnl::engine engine_;
  dnnl::reorder reorder_;
};

// y = x W^T on one thread: x [M, K] in `operand`, y [M, N] in f32, both dense. oneDNN keeps the code it has
// made, so after the first time making one costs 3 us (measured; the first takes 0.1 to 4 ms).
class TileProduct {
 public:
  TileProduct() = default;
  TileProduct(int64_t M, const WeightTile& weights, DType operand);

  size_t scratch_bytes() const { return description_.scratchpad_desc().get_size(); }
  // Inside a parallel region, on the calling thread; `scratch` of scratch_bytes(), aligned to 64.
  void Multiply(const void* x, const void* weights, float* y, std::byte* scratch) const;
  const char* implementation() const { return description_.impl_info_str(); }

 private:
  dnnl::engine engine_;
  dnnl::matmul::primitive_desc description_;
  dnnl::matmul product_;
};

}  // namespace nextscale::onednn
