"""Writes tests/data/embeddings/<case>.npz: pooled hidden states of transformers (fp32, eager attention) for tiny models.

  python tools/golden/embeddings_reference.py [case ...]

Needs torch and transformers; the tests need neither. The models are those of models_cases.py. Arrays, for a prompt of n
tokens:

  ids_n            [n]  the prompt
  mean_n, cls_n, last_n [E]  of the states behind the last norm: their mean, the first token's, the last token's
  meta             JSON: versions, SHA-256 of the GGUF (without pooling_type)
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

from models_cases import CASES
from models_gguf import file_hash, write
from models_hf import build
from models_weights import token_ids

OUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "embeddings"
EMBEDDING_CASES = ("qwen3_gqa3_d80", "qwen2_gqa7_d64_tied")
EMBEDDING_LENGTHS = (1, 17, 200, 1100)


def main():
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or EMBEDDING_CASES:
        case = CASES[name]
        model = build(case)
        arrays = {}
        for n in EMBEDDING_LENGTHS:
            ids = token_ids(f"{name}/embedding/{n}", n, case.V)
            with torch.inference_mode():
                states = model.model(torch.tensor([ids]), use_cache=False).last_hidden_state[0].double()
            pooled = {"mean": states.mean(0), "cls": states[0], "last": states[-1]}
            arrays[f"ids_{n}"] = np.array(ids, np.uint16)
            arrays |= {f"{key}_{n}": value.numpy().astype(np.float32) for key, value in pooled.items()}
        with tempfile.TemporaryDirectory() as tmp:
            write(case, Path(tmp) / "m.gguf")
            digest = file_hash(Path(tmp) / "m.gguf")
        meta = {"case": name, "gguf_sha256": digest, "torch": torch.__version__, "transformers": transformers.__version__}
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        np.savez_compressed(OUT / f"{name}.npz", **arrays)
        print(f"{name}: {(OUT / f'{name}.npz').stat().st_size >> 10} KB", flush=True)


if __name__ == "__main__":
    main()
