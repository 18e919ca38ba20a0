// Attention problems with random tensors, and what the scalar twin makes of them; for the test and the bench.
#pragma once

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <vector>

#include "ops/attention.h"

namespace nextscale {

struct AttentionCase {
  int64_t B = 1, L = 1, H = 1, D = 32;
  std::vector<int64_t> cached, current;  // [B*H] lengths, or one for all heads, or none
  DType dtype = DType::kF32;
  float scale = 0;  // 0: 1 / sqrt(D)
  bool bias = false;
  float q_factor = 1;  // of the normal q's
  unsigned seed = 1;
};

inline void PrintTo(const AttentionCase& c, std::ostream* out) {
  *out << Name(c.dtype) << " B" << c.B << " L" << c.L << " H" << c.H << " D" << c.D << " cached";
  for (int64_t n : c.cached) *out << ' ' << n;
  *out << " current";
  for (int64_t n : c.current) *out << ' ' << n;
  if (c.bias) *out << " bias";
}

class AttentionProblem {
 public:
  explicit AttentionProblem(const AttentionCase& c) : c_(c), random_(c.seed) {
    q_ = Normal(c.B * c.L, c.H * c.D, c.q_factor);
    AddSegment(c.cached, cached_);
    AddSegment(c.current, current_);
    if (c.bias) {
      const int64_t keys =
          (c.cached.empty() ? 0 : cached_[0].length) + (c.current.empty() ? 0 : current_[0].length);
      bias_.resize(c.H * c.L * keys);
      std::normal_distribution<float> normal;
      for (float& b : bias_) b = 3 * normal(random_);
    }
  }

  Tensor Output() const { return Tensor(c_.dtype, {c_.B * c_.L, c_.H * c_.D}, {}); }
  Tensor& q() { return q_; }
  Tensor& segment(int i) {
    return segments_[i];
  }  // k, v of the cached keys, then of the current ones, if there are any; all heads' rows

  AttentionArgs Args(Tensor& o) const {
    AttentionArgs args{.q = q_.view(), .o = o.view(), .B = c_.B, .L = c_.L, .H = c_.H, .D = c_.D};
    args.cached_BH = cached_;
    args.current_BH = current_;
    args.scale = c_.scale != 0 ? c_.scale : 1 / std::sqrt(static_cast<float>(c_.D));
    args.bias_HLS = c_.bias ? bias_.data() : nullptr;
    return args;
  }
  // As Args, of stream b alone.
  AttentionArgs ArgsOfStream(int64_t b, Tensor& o) const {
    AttentionArgs args = Args(o);
    args.B = 1;
    args.q = args.q.Rows(b * c_.L, c_.L);
    args.o = args.o.Rows(b * c_.L, c_.L);
    if (!cached_.empty()) args.cached_BH = args.cached_BH.subspan(b * c_.H, c_.H);
    if (!current_.empty()) args.current_BH = args.current_BH.subspan(b * c_.H, c_.H);
    return args;
  }

  std::vector<float> Reference() const {
    Tensor o = Output();
    Attention(Args(o), OpContext(Backend::kReference));
    return Floats(o);
  }
  // The twin's output for |v|: what rounding errors of the weights are relative to.
  std::vector<float> Magnitude() {
    std::vector<Tensor> kept;
    for (size_t i = 1; i < segments_.size(); i += 2) {
      Tensor& v = segments_[i];
      kept.emplace_back(v.dtype(), v.shape(), MemoryUse{});
      std::copy_n(v.view().raw(), v.bytes(), kept.back().view().raw());
      for (int64_t j = 0; j < v.elements(); ++j) Set(v, j, std::fabs(Get(v, j)));
    }
    std::vector<float> magnitude = Reference();
    for (size_t i = 0; i < kept.size(); ++i) {
      std::copy_n(kept[i].view().raw(), kept[i].bytes(), segments_[2 * i + 1].view().raw());
    }
    return magnitude;
  }

  static float Get(const Tensor& t, int64_t i) {
    return t.dtype() == DType::kF32 ? t.data<float>()[i] : static_cast<float>(t.data<bf16_t>()[i]);
  }
  static void Set(Tensor& t, int64_t i, float value) {
    if (t.dtype() == DType::kF32) {
      t.data<float>()[i] = value;
    } else {
      t.data<bf16_t>()[i] = bf16_t(value);
    }
  }
  static std::vector<float> Floats(const Tensor& t) {
    std::vector<float> floats(t.elements());
    ConvertFloats(t.view().raw(), t.dtype(), floats.data(), DType::kF32, t.elements());
    return floats;
  }

 private:
  Tensor Normal(int64_t rows, int64_t width, float factor) {
    Tensor t(c_.dtype, {rows, width}, {});
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < t.elements(); ++i) Set(t, i, factor * normal(random_));
    return t;
  }

  // Each head's rows lie apart from the others', and none starts at the tensor's.
  void AddSegment(const std::vector<int64_t>& lengths, std::vector<HeadKv>& heads) {
    if (lengths.empty()) return;
    std::vector<int64_t> first;
    int64_t rows = 0;
    for (int64_t i = 0; i < c_.B * c_.H; ++i) {
      first.push_back(++rows);
      heads.push_back({.length = lengths.size() == 1 ? lengths[0] : lengths[i]});
      rows += heads.back().length;
    }
    for (int kv = 0; kv < 2; ++kv) {
      segments_.push_back(Normal(rows, c_.D, 1));
      for (int64_t i = 0; i < c_.B * c_.H; ++i) {
        const void* at =
            segments_.back().view().raw() + first[i] * c_.D * static_cast<int64_t>(SizeOf(c_.dtype));
        (kv ? heads[i].v : heads[i].k) = at;
      }
    }
  }

  AttentionCase c_;
  std::mt19937 random_;
  Tensor q_;
  std::vector<Tensor> segments_;
  std::vector<HeadKv> cached_, current_;
  std::vector<float> bias_;
};

}  // namespace nextscale
