#include "cli/bench_flop.h"

namespace nextscale {

ScaleFlop TransformerFlop(const TransformerConfig& c, const ScaleWork& w) {
  const double C = c.width, ffn = (c.swiglu ? 3.0 : 2.0) * C * c.ffn;
  ScaleFlop out;
  for (size_t layer = 0; layer < w.run.size(); ++layer) {
    const double rows = static_cast<double>(w.streams * w.run[layer]);
    out.linear += 2 * rows * (6 * C * C + ffn);  // qkv, proj, cross-attention's q and proj, feed-forward
    out.attention += 4 * rows * C * static_cast<double>(w.cached[layer] + w.run[layer] + w.text_tokens);
  }
  const double head = static_cast<double>(w.streams * w.tokens) * C * 2 * c.bits,
               embedding = static_cast<double>(w.images * w.tokens) * c.bits * C;
  out.linear += 2 * (head + embedding);
  return out;
}

double ConditionFlop(const TransformerConfig& c, int64_t streams, int64_t text_tokens) {
  const double C = c.width, rows = static_cast<double>(streams * text_tokens);
  const double text =
      2 * rows * (3 * C * c.text_width + C * C);  // pooling's keys and values, text_proj_for_ca
  const double keys = static_cast<double>(c.depth) * 2 * rows * 2 * C * C;  // of every block
  const double pooled =
      2 * static_cast<double>(streams) * (C * C + 6 * C * C + 2 * C * C);  // proj, shared_ada_lin, head's
  return text + keys + pooled;
}

double T5Flop(const T5Config& c, int64_t tokens) {
  const double n = static_cast<double>(tokens), inner = static_cast<double>(c.heads * c.head_dim);
  const double layer = 2 * n * (4.0 * c.width * inner + 3.0 * c.width * c.ffn) + 4 * n * n * inner;
  return layer * static_cast<double>(c.layers);
}

double VaeDecodeFlop(const VaeConfig& c, MapSize latent) {
  const int levels = static_cast<int>(c.multipliers.size());
  const auto channels = [&](int level) {
    return static_cast<double>(c.base_channels * c.multipliers[level]);
  };
  const auto conv3 = [](double in, double out, double pixels) { return 2 * 9 * in * out * pixels; };
  double pixels = static_cast<double>(latent.tokens()), in = channels(levels - 1);
  double flop =
      conv3(static_cast<double>(c.bits), in, pixels) + 4 * conv3(in, in, pixels);  // conv_in, two mid blocks
  for (int level = levels - 1; level >= 0; --level) {
    const double out = channels(level);
    flop += conv3(in, out, pixels) +
            (2.0 * static_cast<double>(c.decoder_res_blocks) - 1) * conv3(out, out, pixels);
    if (in != out) flop += 2 * in * out * pixels;  // the 1x1 shortcut
    if (level > 0) {
      pixels *= 4;
      flop += conv3(out, out, pixels);
    }
    in = out;
  }
  return flop + conv3(in, 3, pixels);
}

}  // namespace nextscale
