#!/usr/bin/env python3
"""Writes checkpoints of the published sizes and formats with random weights, to try the engine at true size.

    scripts/write_true_size_checkpoints.py --out DIR --spiece PATH/spiece.model               all parts, 41 GB
    scripts/write_true_size_checkpoints.py --out DIR --parts 2b,vae-d32                       some
    scripts/write_true_size_checkpoints.py --out DIR --spiece PATH/spiece.model --small       the same forms, a few MB

parts: 2b       infinity_2b_reg.pth                  torch zip, f32, 9.0 GB
       8b       infinity_8b_weights/                 safetensors shards with an index, bf16, spatial patchify, 17 GB
       vae-d32  infinity_vae_d32.pth                 torch zip, f32, stride 16
       vae-d56  infinity_vae_d56_f8_14_patchify.pth  torch zip, f32, stride 8
       t5-xl    flan-t5-xl/                          safetensors shards with an index, bf16, 2.7 GB; needs --spiece

Needs Python 3 and numpy. Numbers come from one block of random numbers, read from another place for each tensor, so that writing is as
fast as the disk; a few hundred MB of memory are used. The scales are those of oracle/make_golden.py, so that activations stay finite.
"""
import argparse
import json
import math
import os
import struct
import time
import zlib

import numpy as np

BLOCK = 1 << 23                 # random numbers in memory
STORAGE = {"f32": b"FloatStorage", "bf16": b"BFloat16Storage", "i64": b"LongStorage"}
BYTES = {"f32": 4, "bf16": 2, "i64": 8}
SAFETENSORS = {"f32": "F32", "bf16": "BF16"}
SHARD_BYTES = 5_000_000_000


# ---------------------------------------------------------------- names and shapes
def transformer(depth, C, heads, bits, text, chunks, rows=512, levels=15):
    hidden, pool = round(C * 4 / 256) * 256, max(1, text // (64 if C > 4096 else 128))
    out = [("cfg_uncond", (rows, text)), ("pos_start", (1, 1, C)), ("text_norm.weight", (text,)),
           ("text_proj_for_sos.ca.mat_q", (1, pool, C // pool)), ("text_proj_for_sos.ca.v_bias", (C,)),
           ("text_proj_for_sos.ca.zero_k_bias", (C,)), ("text_proj_for_sos.ca.mat_kv.weight", (2 * C, text))]
    out += linear("text_proj_for_sos.ca.proj", C, C) + linear("text_proj_for_ca.0", C, text) + linear("text_proj_for_ca.2", C, C)
    out += [("lvl_embed.weight", (levels, C))] + linear("word_embed", C, bits) + linear("shared_ada_lin.1", 6 * C, C)
    out += linear("head_nm.ada_lin.1", 2 * C, C) + linear("head", 2 * bits, C)
    for n in range(depth):
        p = f"block_chunks.{n // (depth // chunks)}.module.{n % (depth // chunks)}."
        out += [(p + "ada_gss", (1, 1, 6, C)), (p + "sa.scale_mul_1H11", (1, 1, heads, 1)), (p + "sa.q_bias", (C,)),
                (p + "sa.v_bias", (C,)), (p + "sa.zero_k_bias", (C,)), (p + "sa.mat_qkv.weight", (3 * C, C))]
        out += linear(p + "sa.proj", C, C) + [(p + "ca.v_bias", (C,)), (p + "ca.zero_k_bias", (C,))] + linear(p + "ca.mat_q", C, C)
        out += [(p + "ca.mat_kv.weight", (2 * C, C))] + linear(p + "ca.proj", C, C)
        out += linear(p + "ffn.fc1", hidden, C) + linear(p + "ffn.fc2", C, hidden)
        out += [(p + "ca_norm.weight", (C,)), (p + "ca_norm.bias", (C,))]
    return out


def linear(name, rows, columns):
    return [(name + ".weight", (rows, columns)), (name + ".bias", (rows,))]


def conv(name, rows, columns, kernel):
    return [(name + ".conv.weight", (rows, columns, kernel, kernel)), (name + ".conv.bias", (rows,))]


def norm(name, channels):
    return [(name + ".norm.weight", (channels,)), (name + ".norm.bias", (channels,))]


def res_block(name, i, o):
    out = norm(name + ".norm1", i) + conv(name + ".conv1", o, i, 3) + norm(name + ".norm2", o) + conv(name + ".conv2", o, o, 3)
    return out + (conv(name + ".nin_shortcut", o, i, 1) if i != o else [])


def vae(d, base, multipliers, blocks=2):
    levels, c = len(multipliers), base
    out = conv("encoder.conv_in", base, 3, 3)
    for i, m in enumerate(multipliers):
        for b in range(blocks):
            out += res_block(f"encoder.down.{i}.block.{b}", c, base * m)
            c = base * m
        if i + 1 < levels:
            out += conv(f"encoder.down.{i}.downsample.conv", c, c, 3)
    out += res_block("encoder.mid.block_1", c, c) + res_block("encoder.mid.block_2", c, c)
    out += norm("encoder.norm_out", c) + conv("encoder.conv_out", d, c, 3)
    out += conv("decoder.conv_in", c, d, 3) + res_block("decoder.mid.block_1", c, c) + res_block("decoder.mid.block_2", c, c)
    for i in reversed(range(levels)):
        for b in range(blocks + 1):
            out += res_block(f"decoder.up.{i}.block.{b}", c, base * multipliers[i])
            c = base * multipliers[i]
        if i > 0:
            out += conv(f"decoder.up.{i}.upsample.conv", c, c, 3)
    out += norm("decoder.norm_out", c) + conv("decoder.conv_out", 3, c, 3)
    return out + [("quantizer.lfq.mask", (d,)), ("quantize.lfq.mask", (d,))]


def t5(c):
    inner, width = c["num_heads"] * c["d_kv"], c["d_model"]
    out = [("shared.weight", (c["vocab_size"], width))]
    for n in range(c["num_layers"]):
        p = f"encoder.block.{n}.layer."
        out += [(f"{p}0.SelfAttention.{m}.weight", (inner, width)) for m in "qkv"] + [(p + "0.SelfAttention.o.weight", (width, inner))]
        if n == 0:
            out += [(p + "0.SelfAttention.relative_attention_bias.weight", (c["relative_attention_num_buckets"], c["num_heads"]))]
        out += [(p + "0.layer_norm.weight", (width,)), (p + "1.DenseReluDense.wi_0.weight", (c["d_ff"], width)),
                (p + "1.DenseReluDense.wi_1.weight", (c["d_ff"], width)), (p + "1.DenseReluDense.wo.weight", (width, c["d_ff"])),
                (p + "1.layer_norm.weight", (width,))]
    # What a full T5 file also holds, and the engine passes over.
    return out + [("encoder.final_layer_norm.weight", (width,)), ("decoder.final_layer_norm.weight", (width,)),
                  ("lm_head.weight", (c["vocab_size"], width))]


# ---------------------------------------------------------------- numbers
class Numbers:
    """The elements of tensors, in pieces of at most BLOCK."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.block = random.standard_normal(2 * BLOCK, dtype=np.float32)   # any BLOCK in a row can be taken
        self.places = random

    @staticmethod
    def spread(name, shape):
        """-> mean and deviation, those of make_golden.py's randomise."""
        by_fan = (math.prod(shape) / shape[0]) ** -0.5
        if name.endswith("scale_mul_1H11"):
            return math.log(6.0), 0.5
        if name.endswith("zero_k_bias"):
            return 0.0, 0.0
        if name.endswith("ada_gss"):
            return 0.0, 0.35
        if (name.endswith("mat_q") and len(shape) == 3) or "relative_attention_bias" in name:
            return 0.0, 1.5
        if name.startswith("shared.") or name == "cfg_uncond":
            return 0.0, 0.8
        if "lvl_embed" in name or name == "pos_start":
            return 0.0, 0.6
        if name.endswith("SelfAttention.q.weight"):
            return 0.0, 1.5 * by_fan * 64 ** -0.5
        if name == "head.weight":
            return 0.0, 0.8 * by_fan
        if name == "decoder.conv_out.conv.weight":
            return 0.0, 0.35 * by_fan
        if name == "word_embed.weight":
            return 0.0, 1.2
        if len(shape) == 1:
            return (1.0, 0.25) if name.endswith("weight") else (0.0, 0.3)
        return 0.0, 1.1 * by_fan

    def pieces(self, name, shape, dtype):
        if dtype == "i64":
            yield (2 ** np.arange(shape[0] - 1, -1, -1, dtype=np.int64)).tobytes()
            return
        mean, deviation = self.spread(name, shape)
        left = math.prod(shape)
        first = True
        while left:
            n = min(left, BLOCK)
            at = int(self.places.integers(0, BLOCK))
            piece = self.block[at:at + n] * np.float32(deviation)
            if mean:
                piece += np.float32(mean)
            if first and name.endswith("ada_gss"):
                piece[:2 * shape[-1]] += np.float32(0.5)                     # gamma1 and gamma2
            yield piece.tobytes() if dtype == "f32" else to_bf16(piece)
            left, first = left - n, False


def to_bf16(floats):
    bits = floats.view(np.uint32)                                            # round to nearest even
    return ((bits + (np.uint32(0x7fff) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)).astype("<u2").tobytes()


# ---------------------------------------------------------------- torch's zip archives
class TorchZip:
    """Stored entries whose data start at multiples of 64, zip64 where an offset needs it, as torch.save writes them."""

    def __init__(self, path):
        self.file, self.root, self.entries = open(path, "wb"), os.path.splitext(os.path.basename(path))[0], []

    def add(self, name, pieces):
        name = f"{self.root}/{name}".encode()
        start = self.file.tell()
        padding = -(start + 30 + len(name) + 4) % 64
        extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding         # torch's own field, "FB"
        self.file.write(self.local(name, extra, 0, 0))
        crc = size = 0
        for piece in pieces:
            self.file.write(piece)
            crc, size = zlib.crc32(piece, crc), size + len(piece)
        end = self.file.tell()
        self.file.seek(start)
        self.file.write(self.local(name, extra, crc, size))
        self.file.seek(end)
        self.entries.append((name, crc, size, start))

    @staticmethod
    def local(name, extra, crc, size):
        return struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0, crc, size, size, len(name), len(extra)) + name + extra

    def close(self):
        begin = self.file.tell()
        for name, crc, size, start in self.entries:
            extra = struct.pack("<HHQ", 1, 8, start) if start >= 0xffffffff else b""
            self.file.write(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0, crc, size, size, len(name), len(extra), 0, 0, 0, 0,
                                        min(start, 0xffffffff)) + name + extra)
        end, n = self.file.tell(), len(self.entries)
        self.file.write(struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, n, n, end - begin, begin))
        self.file.write(struct.pack("<IIQI", 0x07064b50, 0, end, 1))
        self.file.write(struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, min(n, 0xffff), min(n, 0xffff), end - begin, min(begin, 0xffffffff), 0))
        self.file.close()


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def whole(n):
    return b"J" + struct.pack("<i", n) if n < 1 << 31 else b"\x8a\x08" + struct.pack("<q", n)


def tuple_of(numbers):
    return b"(" + b"".join(map(whole, numbers)) + b"t"


def state_dict(tensors):
    """Pickle, protocol 2, of an OrderedDict of tensors; number i of them is the storage i."""
    out = [b"ccollections\nOrderedDict\n)R("]
    for i, (name, shape, dtype) in enumerate(tensors):
        strides = [math.prod(shape[k + 1:]) for k in range(len(shape))]
        out += [text(name), b"ctorch._utils\n_rebuild_tensor_v2\n((", text("storage"), b"ctorch\n", STORAGE[dtype], b"\n", text(str(i)),
                text("cpu"), whole(math.prod(shape)), b"tQ", whole(0), tuple_of(shape), tuple_of(strides),
                b"\x89ccollections\nOrderedDict\n)RtR"]
    return b"".join(out) + b"u"


def write_torch(path, tensors, numbers, nest=None):
    typed = [(name, shape, "i64" if name.endswith("mask") else "f32") for name, shape in tensors]
    state = state_dict(typed)
    if nest:
        state = b"}(" + text(nest) + state + text("epoch") + whole(1) + b"u"
    archive = TorchZip(path)
    archive.add("data.pkl", [b"\x80\x02" + state + b"."])
    archive.add("byteorder", [b"little"])
    for i, (name, shape, dtype) in enumerate(typed):
        archive.add(f"data/{i}", numbers.pieces(name, shape, dtype))
    archive.add("version", [b"3\n"])
    archive.close()


# ---------------------------------------------------------------- safetensors
def write_safetensors(path, tensors, numbers, dtype):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors:
        size = math.prod(shape) * BYTES[dtype]
        header[name] = {"dtype": SAFETENSORS[dtype], "shape": shape, "data_offsets": [at, at + size]}
        at += size
    blob = json.dumps(header, separators=(",", ":")).encode()
    blob += b" " * (-len(blob) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(blob)) + blob)
        for name, shape in tensors:
            for piece in numbers.pieces(name, shape, dtype):
                f.write(piece)


def write_shards(folder, tensors, numbers, dtype, shard_bytes):
    os.makedirs(folder, exist_ok=True)
    shards, total = [[]], 0
    for name, shape in tensors:
        size = math.prod(shape) * BYTES[dtype]
        if shards[-1] and sum(math.prod(s) for _, s in shards[-1]) * BYTES[dtype] + size > shard_bytes:
            shards.append([])
        shards[-1].append((name, shape))
        total += size
    index = {}
    for i, shard in enumerate(shards):
        file = f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors"
        write_safetensors(os.path.join(folder, file), shard, numbers, dtype)
        index.update({name: file for name, _ in shard})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": index}, f, indent=2)


# ---------------------------------------------------------------- parts
def t5_config(small):
    sizes = dict(d_model=256, d_kv=64, num_heads=4, d_ff=512, num_layers=2) if small else dict(
        d_model=2048, d_kv=64, num_heads=32, d_ff=5120, num_layers=24)
    return dict(architectures=["T5ForConditionalGeneration"], model_type="t5", feed_forward_proj="gated-gelu", vocab_size=32128,
                relative_attention_num_buckets=32, relative_attention_max_distance=128, layer_norm_epsilon=1e-6, is_encoder_decoder=True,
                tie_word_embeddings=False, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, torch_dtype="bfloat16", **sizes)


def write_t5(folder, numbers, small, spiece):
    config = t5_config(small)
    write_shards(folder, t5(config), numbers, "bf16", SHARD_BYTES // 2 if not small else 8_000_000)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=2)
    with open(spiece, "rb") as source, open(os.path.join(folder, "spiece.model"), "wb") as f:
        f.write(source.read())


def write_part(part, out, numbers, small, spiece):
    base, text_width = (32, 256) if small else (128, 2048)
    if part == "2b":
        sizes = dict(depth=16, C=256, heads=2) if small else dict(depth=32, C=2048, heads=16)
        write_torch(os.path.join(out, "infinity_2b_reg.pth"), transformer(bits=32, text=text_width, chunks=8, **sizes), numbers)
    elif part == "8b":
        sizes = dict(depth=16, C=384, heads=3) if small else dict(depth=40, C=3584, heads=28)
        write_shards(os.path.join(out, "infinity_8b_weights"), transformer(bits=56, text=text_width, chunks=8, **sizes), numbers, "bf16",
                     20_000_000 if small else SHARD_BYTES)
    elif part == "vae-d32":
        write_torch(os.path.join(out, "infinity_vae_d32.pth"), vae(32, base, (1, 2, 4, 4, 4)), numbers, nest="vae")
    elif part == "vae-d56":
        write_torch(os.path.join(out, "infinity_vae_d56_f8_14_patchify.pth"), vae(14, base, (1, 2, 4, 4)), numbers, nest="vae")
    elif part == "t5-xl":
        write_t5(os.path.join(out, "flan-t5-xl"), numbers, small, spiece)


def main():
    parts = ["2b", "8b", "vae-d32", "vae-d56", "t5-xl"]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, help="folder to write to")
    p.add_argument("--parts", default=",".join(parts), help="comma list (default: all)")
    p.add_argument("--spiece", help="the tokenizer that goes with t5-xl")
    p.add_argument("--small", action="store_true", help="the same files with small shapes")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    chosen = a.parts.split(",")
    unknown = [c for c in chosen if c not in parts]
    if unknown:
        p.error(f"unknown part {unknown[0]}; parts: {', '.join(parts)}")
    if "t5-xl" in chosen and not a.spiece:
        p.error("t5-xl needs --spiece")
    os.makedirs(a.out, exist_ok=True)
    for part in chosen:
        start = time.time()
        write_part(part, a.out, Numbers(a.seed + parts.index(part)), a.small, a.spiece)
        print(f"{part}: {time.time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
