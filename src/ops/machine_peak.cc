// The machine's matrix peak by oneDNN's own parallel product.
#include "ops/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "ops/isa.h"
#include "ops/onednn.h"
#include "tensor/tensor.h"

namespace nextscale {
namespace {

constexpr int64_t kSize = 2048;

// y = x W, all of them kSize x kSize.
class SquareProduct {
 public:
  explicit SquareProduct(DType type)
      : engine_(onednn::Engine()),
        x_(Plain(type), engine_),
        y_(Plain(DType::kF32), engine_),
        stream_(engine_) {
    const dnnl::memory::desc any({kSize, kSize}, onednn::TypeOf(type), dnnl::memory::format_tag::any);
    const dnnl::matmul::primitive_desc description({x_.get_desc(), any, y_.get_desc()}, engine_);
    w_ = dnnl::memory(description.weights_desc(), engine_);
    product_ = dnnl::matmul(description);
    // Numbers of ordinary size: zeros and NaNs are not what layers multiply.
    FillOnes(x_, type);
    FillOnes(w_, type);
  }

  double Seconds() {
    const auto start = std::chrono::steady_clock::now();
    product_.execute(stream_, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, w_}, {DNNL_ARG_DST, y_}});
    stream_.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static dnnl::memory::desc Plain(DType type) {
    return {{kSize, kSize}, onednn::TypeOf(type), dnnl::memory::format_tag::ab};
  }
  static void FillOnes(dnnl::memory& memory, DType type) {
    const std::vector<float> ones(memory.get_desc().get_size() / SizeOf(type), 1.0f);
    ConvertFloats(ones.data(), DType::kF32, memory.get_data_handle(), type,
                  static_cast<int64_t>(ones.size()));
  }

  dnnl::engine engine_;
  dnnl::memory x_, y_, w_;
  dnnl::stream stream_;
  dnnl::matmul product_;
};

}  // namespace

MatrixRate MeasureMatrixRate(DType operand, int repetitions) {
  return onednn::Checked("measuring the matrix peak", [&] {
    SquareProduct product(operand);
    product.Seconds();  // the first one makes pages and wakes threads
    std::vector<double> seconds;
    for (int i = 0; i < std::max(1, repetitions); ++i) seconds.push_back(product.Seconds());
    std::sort(seconds.begin(), seconds.end());
    const double gflop = 2.0 * kSize * kSize * kSize / 1e9;
    return MatrixRate{gflop / seconds[seconds.size() / 2], gflop / seconds.front()};
  });
}

MachinePeak MeasureMachinePeak(int repetitions) {
  MachinePeak peak;
  peak.f32 = MeasureMatrixRate(DType::kF32, repetitions);
  peak.bf16 = HasFastBf16(EffectiveIsa()) ? MeasureMatrixRate(DType::kBF16, repetitions) : peak.f32;
  return peak;
}

}  // namespace nextscale
