"""Writes tests/data/models/<case>.npz: what transformers (fp32, eager attention) computes for each tiny model.

  python tools/golden/models_reference.py [case ...]

Needs torch and transformers (versions are stored in each file); the tests need neither. Arrays, for a prompt of n tokens
and g greedy ones behind it:

  ids_n      [n+g]       prompt and greedy continuation
  logprob_n  [n+g-1]     log-probability of ids[p+1] after ids[:p+1]
  pos_n      [P]         positions p that have top lists: all when n <= 200, else a spread with every edge of 256
  top_ids_n, top_lp_n [P, 24]  most probable next tokens and their log-probabilities, falling
  full_n     [V]         all log-probabilities after the prompt
  hidden_n   [layers+1, 3, 8]  first 8 elements of the residual stream after the embedding and after each layer, at the
                         prompt's first, middle and last token; hidden_abs_n [layers+1, 3] its mean magnitude there
  meta       JSON: versions, SHA-256 of the GGUF, spread of the logits, for quantised cases the simulated int8 deviation
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

from models_cases import CASES, N_TOP, Case
from models_gguf import file_hash, write
from models_hf import build, simulate_int8
from models_weights import token_ids

OUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "models"
MIN_GREEDY_GAP = 0.01  # a greedy path closer to a tie than this is not used
MAX_ATTEMPTS = 60


def listed_positions(n_prompt: int, n_total: int) -> np.ndarray:
    if n_prompt <= 200:
        return np.arange(n_total)
    keep = {p for p in range(n_total) if p < 24 or p % 11 == 3 or p % 256 in (0, 1, 254, 255) or p >= n_prompt - 8}
    return np.array(sorted(keep))


def forward(model, ids):
    with torch.inference_mode():
        return model(torch.tensor([ids]), use_cache=False).logits[0].float()


def greedy(model, prompt, n):
    """Prompt and n greedy tokens; None when a tie came near."""
    ids = list(prompt)
    cache = transformers.DynamicCache(config=model.config)
    step = torch.tensor([ids])
    with torch.inference_mode():
        for _ in range(n):
            logits = model(step, cache=cache, use_cache=True).logits[0, -1]
            best = logits.topk(2)
            if best.values[0] - best.values[1] < MIN_GREEDY_GAP:
                return None
            ids.append(int(best.indices[0]))
            step = torch.tensor([[ids[-1]]])
    return ids


def pick_prompt(case: Case, model, n: int):
    for attempt in range(MAX_ATTEMPTS):
        prompt = token_ids(f"{case.name}/prompt/{n}/{attempt}", n, case.V)
        ids = greedy(model, prompt, case.n_greedy)
        if ids is not None:
            return ids
    raise RuntimeError(f"{case.name}: no prompt of {n} tokens whose greedy path keeps clear of ties")


def hidden_states(model, ids, n_prompt: int):
    states = []
    layers = getattr(model.model, "language_model", model.model).layers
    hooks = [layers[0].register_forward_pre_hook(lambda _, a: states.append(a[0]))]
    hooks += [m.register_forward_hook(lambda _, a, out: states.append(out[0] if isinstance(out, tuple) else out))
              for m in layers]
    logits = forward(model, ids)
    for hook in hooks:
        hook.remove()
    rows = torch.stack([s.reshape(len(ids), -1)[[0, n_prompt // 2, n_prompt - 1]] for s in states])
    return logits, rows[..., :8].numpy(), rows.abs().mean(-1).numpy()


def reference(case: Case) -> tuple[dict, dict]:
    model = build(case)
    arrays, spreads, deviations = {}, [], []
    simulated = None
    if not case.exact:
        simulated = build(case)
        simulate_int8(simulated)
    for n in case.prompt_lengths:
        ids = pick_prompt(case, model, n)
        logits, hidden, hidden_abs = hidden_states(model, ids, n)
        # The greedy tokens came from a cached run: one plain forward must agree.
        assert [int(t) for t in logits[n - 1:-1].argmax(-1)] == ids[n:], case.name
        lp = torch.log_softmax(logits.double(), -1)
        spreads.append(float(logits.std(-1).mean()))
        n_rows = len(ids) - 1 if case.n_greedy else len(ids)
        pos = listed_positions(n, n_rows)
        top = lp[pos].topk(N_TOP)
        following = torch.tensor(ids[1:])
        arrays |= {
            f"ids_{n}": np.array(ids, np.uint16),
            f"logprob_{n}": lp[:len(ids) - 1].gather(1, following[:, None])[:, 0].numpy().astype(np.float32),
            f"pos_{n}": pos.astype(np.uint16),
            f"top_ids_{n}": top.indices.numpy().astype(np.uint16),
            f"top_lp_{n}": top.values.numpy().astype(np.float32),
            f"full_{n}": lp[n - 1].numpy().astype(np.float32),
            f"hidden_{n}": hidden.astype(np.float32), f"hidden_abs_{n}": hidden_abs.astype(np.float32),
        }
        if simulated:
            sim = torch.log_softmax(forward(simulated, ids).double(), -1)
            deviations.append((sim[pos].gather(1, top.indices[:, :20]) - top.values[:, :20]).numpy().ravel())
    spread = float(np.mean(spreads))
    assert 1.0 < spread < 4.0, f"{case.name}: logits have a standard deviation of {spread}"
    with tempfile.TemporaryDirectory() as tmp:
        write(case, Path(tmp) / "m.gguf")
        digest = file_hash(Path(tmp) / "m.gguf")
    meta = {"case": case.name, "gguf_sha256": digest, "logits_std": round(spread, 3), "torch": torch.__version__,
            "transformers": transformers.__version__, "gguf": _version("gguf"), "numpy": np.__version__}
    if simulated:
        d = np.concatenate(deviations)
        meta |= {"sim_rms": float(np.sqrt((d * d).mean())), "sim_max": float(np.abs(d).max())}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    return arrays, meta


def _version(package: str) -> str:
    from importlib.metadata import version
    return version(package)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    for case in [CASES[n] for n in sys.argv[1:]] or CASES.values():
        arrays, meta = reference(case)
        path = OUT / f"{case.name}.npz"
        np.savez_compressed(path, **arrays)
        extra = f" sim rms {meta['sim_rms']:.4f} max {meta['sim_max']:.3f}" if "sim_rms" in meta else ""
        print(f"{case.name}: {path.stat().st_size >> 10} KB, logits std {meta['logits_std']}{extra}", flush=True)


if __name__ == "__main__":
    main()
