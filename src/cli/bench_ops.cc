#include "cli/bench_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ops/attention.h"
#include "ops/matmul.h"

namespace nextscale {
namespace {

constexpr double kEnoughSeconds = 0.2;
constexpr int kMostCalls = 25;

// The median of calls, after one that warms up: at least three, more until they took long enough.
template <typename Call>
double MedianSeconds(Call&& call) {
  call();
  std::vector<double> seconds;
  for (double total = 0; seconds.size() < 3 || (total < kEnoughSeconds && seconds.size() < kMostCalls);) {
    const auto start = std::chrono::steady_clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += seconds.back();
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<int64_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

// Small numbers of both signs, in f32 or bf16.
void Fill(DType type, void* data, int64_t first, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>(((first + i) * 2654435761 >> 8) % 255 - 127) / 1024.0f;
    if (type == DType::kBF16) {
      static_cast<bf16_t*>(data)[i] = bf16_t(value);
    } else {
      static_cast<float*>(data)[i] = value;
    }
  }
}

Tensor Filled(DType type, Shape shape) {
  Tensor t(type, shape, {});
  Fill(type, t.view().raw(), 1, t.elements());
  return t;
}

StatusOr<LinearWeights> Weights(int64_t N, int64_t K, DType type, const OpContext& ops) {
  const RowReader read = [&](int64_t begin, int64_t end, DType to, void* dst) -> Status {
    Fill(to, dst, begin * K, (end - begin) * K);
    return absl::OkStatus();
  };
  return LinearWeights::Pack(N, K, type, read, std::vector<float>(N, 0.1f), ops);
}

OpTime TimeLinear(const std::string& name, const LinearWeights& w, Activation activation, MapSize map,
                  int64_t streams, const OpContext& ops) {
  const int64_t rows = streams * map.tokens();
  const Tensor x = Filled(w.dtype(), {rows, w.K()});
  Tensor y(w.dtype(), {rows, w.N()}, {});
  const LinearArgs args{
      .x = x.view(), .y = y.view(), .rows_per_stream = map.tokens(), .activation = activation};
  return {.op = name,
          .map = map,
          .shape = fmt::format("{} x {} -> {}", rows, w.K(), w.N()),
          .seconds = MedianSeconds([&] { Linear(w, args, ops); }),
          .flop = 2.0 * static_cast<double>(rows * w.K() * w.N())};
}

OpTime TimeAttention(const TransformerConfig& c, MapSize map, int64_t cached, int64_t streams, DType type,
                     const OpContext& ops) {
  const int64_t L = map.tokens(), H = c.heads, D = c.head_dim();
  const Tensor q = Filled(type, {streams * L, c.width}), k = Filled(type, {streams, H, cached + L, D});
  const Tensor v = Filled(type, k.shape());
  Tensor o(type, q.shape(), {});
  std::vector<HeadKv> before, current;
  for (int64_t bh = 0; bh < streams * H; ++bh) {
    const size_t at = bh * (cached + L) * D * SizeOf(type), split = cached * D * SizeOf(type);
    before.push_back({k.view().raw() + at, v.view().raw() + at, cached});
    current.push_back({k.view().raw() + at + split, v.view().raw() + at + split, L});
  }
  const AttentionArgs args{.q = q.view(),
                           .o = o.view(),
                           .B = streams,
                           .L = L,
                           .H = H,
                           .D = D,
                           .cached_BH = before,
                           .current_BH = current};
  return {.op = "attention",
          .map = map,
          .shape = fmt::format("{} queries, {} keys, {} heads of {}", L, cached + L, streams * H, D),
          .seconds = MedianSeconds([&] { Attention(args, ops); }),
          .flop = 4.0 * static_cast<double>(streams * L * (cached + L) * c.width)};
}

}  // namespace

StatusOr<std::vector<OpTime>> TimeOps(const TransformerConfig& c, const BenchSettings& settings,
                                      const CancelToken* cancel) {
  const OpContext ops;
  const DType type = settings.types.transformer;
  const int64_t streams = 2 * settings.batch;
  std::vector<OpTime> out;
  struct Matrix {
    const char* name;
    int64_t N, K;
    Activation activation;
  };
  const Matrix matrices[] = {{"qkv", 3 * c.width, c.width, Activation::kNone},
                             {"proj", c.width, c.width, Activation::kNone},
                             {"fc1", c.ffn, c.width, c.swiglu ? Activation::kNone : Activation::kGeluTanh},
                             {"fc2", c.width, c.ffn, Activation::kNone}};
  for (const Matrix& m : matrices) {
    NS_ASSIGN_OR_RETURN(const LinearWeights weights, Weights(m.N, m.K, type, ops));
    for (const MapSize map : settings.schedule.maps) {
      if (cancel && cancel->cancelled()) return Interrupted();
      out.push_back(TimeLinear(m.name, weights, m.activation, map, streams, ops));
    }
  }
  int64_t cached = 0;
  for (const MapSize map : settings.schedule.maps) {
    if (cancel && cancel->cancelled()) return Interrupted();
    out.push_back(TimeAttention(c, map, cached, streams, type, ops));
    cached += map.tokens();
  }
  return out;
}

}  // namespace nextscale
