"""Writes golden_tensors.txt: what torch and safetensors read from tests/golden/models, for model_files_test.cc.

One line a tensor that the engine uses: model, part, canonical name, stored type, shape, CRC-32 of its elements as little-endian float32.
Needs torch, numpy and safetensors:  python tests/checkpoint/write_golden_tensors.py
"""
import json
import os
import re
import zlib

import numpy as np
import torch
from safetensors.torch import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "golden", "models")
TYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}


def read(path):
    if os.path.isdir(path):
        index = os.path.join(path, "model.safetensors.index.json")
        if not os.path.exists(index):
            return load_file(os.path.join(path, "model.safetensors"))
        with open(index) as f:
            shards = sorted(set(json.load(f)["weight_map"].values()))
        return {k: v for s in shards for k, v in load_file(os.path.join(path, s)).items()}
    state = torch.load(path, map_location="cpu", weights_only=False)
    return state["trainer"]["gpt_fsdp"] if "trainer" in state else state.get("vae", state)


def canonical(part, state):
    chunk = [tuple(map(int, m.groups())) for m in (re.match(r"block_chunks\.(\d+)\.module\.(\d+)\.", k) for k in state) if m]
    per_chunk = max((j for _, j in chunk), default=0) + 1
    for key, tensor in state.items():
        if key.endswith("zero_k_bias") or key.startswith(("quantizer.", "quantize.")):
            continue
        if part == "text" and key.startswith(("decoder.", "lm_head.")):
            continue
        yield re.sub(r"^block_chunks\.(\d+)\.module\.(\d+)\.",
                     lambda m: f"blocks.{int(m[1]) * per_chunk + int(m[2])}.", key), tensor


def main():
    lines = []
    for model in sorted(os.listdir(MODELS)):
        folder = os.path.join(MODELS, model)
        parts = {"text": folder} if model.startswith("t5") else {
            "transformer": next(p for p in (os.path.join(folder, n) for n in ("transformer.pth", "transformer")) if os.path.exists(p)),
            "vae": os.path.join(folder, "vae.pth")}
        for part, path in parts.items():
            if not os.path.exists(path):
                continue
            for name, tensor in sorted(canonical(part, read(path))):
                data = np.ascontiguousarray(tensor.detach().float().numpy(), "<f4").tobytes()
                shape = ",".join(map(str, tensor.shape))
                lines.append(f"{model} {part} {name} {TYPES[tensor.dtype]} {shape} {zlib.crc32(data)}\n")
    with open(os.path.join(HERE, "golden_tensors.txt"), "w") as f:
        f.writelines(lines)


if __name__ == "__main__":
    main()
