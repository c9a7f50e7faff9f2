"""Writes tests/data/real/<model>.npz: what transformers (fp32) makes of a short text with the weights of a real GGUF file.

  python tools/golden/real_reference.py [model ...]

Models of scripts/models.json that tools/support_matrix knows, from the folder of the tests (TEMPO9_MODELS). Needs torch,
transformers (which decode the file themselves), accelerate, and 4 GiB of memory. Arrays:

  ids [n]                  a text and its tokens
  pos [P]                  positions
  top_ids, top_lp [P, 24]  the most probable next tokens and their log-probabilities, falling
  meta                     JSON: SHA-256 of the file, versions; sim_rms and sim_max, the deviation that int8 activations
                           alone make in the 20 most likely (models_hf.py)
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

from models_cases import N_TOP
from models_hf import simulate_int8

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/data/real"
MODELS = ("smollm2", "qwen", "gemma3")
EVERY = 9  # positions, from the 16th on
TEXT = """# The inventory keeps one record a part: number, name, place, count and the day it was last counted.
def load(path):
    parts = []
    with open(path) as lines:
        for line in lines:
            number, name, place, count, counted = line.rstrip().split(";")
            parts.append(Part(int(number), name, place, int(count), counted))
    return parts

Whoever wants to know how a river was formed must walk along it, from the spring in the hills to the harbour, and look at the
stones: they are large and sharp where it is young, and small and round where it has carried them far.
"""


def log_probabilities(model, ids) -> torch.Tensor:
    with torch.inference_mode():
        return torch.log_softmax(model(torch.tensor([ids]), use_cache=False).logits[0].double(), -1)


def main() -> None:
    torch.set_num_threads(2)
    OUT.mkdir(parents=True, exist_ok=True)
    known = json.loads((ROOT / "scripts/models.json").read_text())
    folder = Path(os.environ.get("TEMPO9_MODELS", Path.home() / ".cache/tempo9/models"))
    for key in sys.argv[1:] or MODELS:
        file = known[key]["file"]
        digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
        assert digest == known[key]["sha256"], f"{file} is not the file of scripts/models.json"
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32,
                                                                  attn_implementation="eager").eval()
        ids = tokenizer(TEXT)["input_ids"]
        pos = list(range(15, len(ids), EVERY))
        exact = log_probabilities(model, ids)[pos]
        top = exact.topk(N_TOP)
        simulate_int8(model)
        d = (log_probabilities(model, ids)[pos].gather(1, top.indices[:, :20]) - top.values[:, :20]).numpy()
        meta = {"file": file, "sha256": digest, "torch": torch.__version__, "transformers": transformers.__version__,
                "sim_rms": float(np.sqrt((d * d).mean())), "sim_max": float(np.abs(d).max())}
        np.savez_compressed(OUT / f"{key}.npz", ids=np.array(ids, np.uint32), pos=np.array(pos, np.uint16),
                            top_ids=top.indices.numpy().astype(np.uint32), top_lp=top.values.numpy().astype(np.float32),
                            meta=np.frombuffer(json.dumps(meta).encode(), np.uint8))
        print(f"{key}: {(OUT / f'{key}.npz').stat().st_size} bytes, {len(ids)} tokens, sim rms {meta['sim_rms']:.4f} "
              f"max {meta['sim_max']:.3f}", flush=True)


if __name__ == "__main__":
    main()
