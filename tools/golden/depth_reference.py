"""Writes tests/data/depth/<architecture>.npz: what transformers (fp32) makes of a prompt of 10 000 tokens.

  python tools/golden/depth_reference.py [architecture ...]

Of each architecture the first tiny model of models_cases.py that has 32-bit weights. The prompt follows from the model's name
(`depth_prompt`). Needs torch and transformers; tools/support_matrix, which reads these files, needs neither. Arrays:

  pos [P]                  positions in the prompt, the last one among them
  top_ids, top_lp [P, 24]  the most probable next tokens and their log-probabilities, falling
  meta                     JSON: the model, SHA-256 of its GGUF, versions
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from models_cases import F32_CASES, N_TOP, Case
from models_weights import token_ids

OUT = Path(__file__).resolve().parents[2] / "tests/data/depth"
N_DEPTH = 10_000
POSITIONS = (2047, 4096, 6001, 8191, 9000, N_DEPTH - 2, N_DEPTH - 1)
SLICE = 500  # of prompts that only attention reads, so that not all scores stand in memory at once
MAX_ERROR = 2e-4  # from the references of shorter prompts, which were computed in one piece


def depth_case(arch: str) -> Case | None:
    return next((c for c in F32_CASES if c.arch == arch), None)


def depth_prompt(case: Case) -> list[int]:
    return token_ids(f"{case.name}/depth", N_DEPTH, case.V)


def forward(case: Case, model, ids: list[int], positions) -> "torch.Tensor":
    """Log-probabilities [P, V] behind the given positions."""
    import torch
    import transformers
    rows = []
    # transformers' recurrent layers take no slices of more than a token.
    size = len(ids) if case.layers else SLICE
    cache = None if case.layers else transformers.DynamicCache(config=model.config)
    with torch.inference_mode():
        for begin in range(0, len(ids), size):
            part = torch.tensor([ids[begin:begin + size]])
            logits = model(part, cache=cache, use_cache=cache is not None).logits[0]
            rows += [logits[p - begin].double() for p in positions if begin <= p < begin + size]
    return torch.log_softmax(torch.stack(rows), -1)


def check_slices(case: Case, model) -> None:
    """The way of computing above gives what models_reference.py computed in one piece."""
    n = max(case.prompt_lengths)
    arrays = np.load(OUT.parent / f"models/{case.name}.npz")
    found = forward(case, model, arrays[f"ids_{n}"].tolist()[:n], [n - 1])[0].numpy()
    error = np.abs(found - arrays[f"full_{n}"]).max()
    assert error <= MAX_ERROR, f"{case.name}: {error:.1e} from the reference of {n} tokens"


def reference(case: Case) -> dict:
    import torch
    import transformers
    from models_gguf import file_hash, write
    from models_hf import build
    model = build(case)
    if case.layers:  # in one piece, but without a matrix of all scores
        model.set_attn_implementation("sdpa")
    check_slices(case, model)
    top = forward(case, model, depth_prompt(case), POSITIONS).topk(N_TOP)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        write(case, path)
        digest = file_hash(path)
    meta = {"case": case.name, "gguf_sha256": digest, "torch": torch.__version__, "transformers": transformers.__version__}
    return {"pos": np.array(POSITIONS, np.uint16), "top_ids": top.indices.numpy().astype(np.uint16),
            "top_lp": top.values.numpy().astype(np.float32),
            "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)}


def main() -> None:
    import torch
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    for arch in sys.argv[1:] or dict.fromkeys(c.arch for c in F32_CASES):
        path = OUT / f"{arch}.npz"
        np.savez_compressed(path, **reference(depth_case(arch)))
        print(f"{arch}: {path.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
