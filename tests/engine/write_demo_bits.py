"""Writes demo_bits.safetensors: the bits that the plain PyTorch statement of the model (var_infinity.py, not part of this repository) draws for
demo_prompts.txt from the files that the bundled package was made of, seeds 100, 101, …, cfg 3, tau 0.7, top-p 0.97.

    python write_demo_bits.py FOLDER_OF_VAR_INFINITY FOLDER_OF_THE_MODEL
"""
import json, os, sys
import torch, sentencepiece
from safetensors.torch import load_file, save_file

here, oracle, folder = os.path.dirname(os.path.abspath(__file__)), sys.argv[1], sys.argv[2]
sys.path.insert(0, oracle)
import var_infinity as V

torch.set_grad_enabled(False)
model = V.Infinity.from_state(load_file(os.path.join(folder, "transformer.safetensors")))
config = json.load(open(os.path.join(folder, "text_encoder/config.json")))
t5 = V.T5Encoder(config)
t5.load_state_dict({k: v.float() for k, v in load_file(os.path.join(folder, "text_encoder/model.safetensors")).items()})
pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "text_encoder/spiece.model"))
out = {}
for i, prompt in enumerate(open(os.path.join(here, "demo_prompts.txt")).read().splitlines()):
    ids = V.tokenise(pieces, prompt, model.cfg_uncond.shape[0])
    mask = torch.ones(1, len(ids), dtype=torch.bool)
    bits, _ = V.generate(model, t5.eval()(torch.tensor([ids]), mask), mask, V.schedule(7, 1.0), cfg=3.0, tau=0.7, top_p=0.97,
                         gen=torch.Generator().manual_seed(100 + i))
    # [L, d] a scale, all scales after one another
    out[f"prompt{i}"] = torch.cat([b[0].flatten(1).T for b in bits]).to(torch.uint8).contiguous()
save_file(out, os.path.join(here, "demo_bits.safetensors"))
