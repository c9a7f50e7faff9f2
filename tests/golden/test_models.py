"""Tiny models against transformers in fp32: every log-probability of every prompt, and 64 greedy tokens.

The files are written here by tools/golden/models_gguf.py; the references lie in tests/data/models with their generator's
name. Bounds:

- F32, F16 and BF16 weights meet f32 activations: 2e-3 on each log-probability is promised, and held to with 62 layers
  (0.7e-3 seen); with a few layers 5e-4 is (0.1e-3 seen).
- Quantised weights meet int8 activations, one f32 scale a block of 32. What that
  alone does to each model was simulated when the reference was made (models_hf.py: quantise_activations before each
  linear of the fp32 model): its root mean square over the 20 most likely tokens of each position is stored as sim_rms,
  its largest as sim_max. Ours has other rounding errors of the same size, so it may be RMS_FACTOR times that.
"""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

from embedders import EMBEDDERS  # noqa: E402
from models_cases import CASES, F32_CASES, QUANT_CASES  # noqa: E402
from models_gguf import cached, file_hash  # noqa: E402
from models_server import ISA_FLAGS, Server, binary, kernel_tables, machine_runs, model_tables  # noqa: E402
from models_weights import draft_shapes  # noqa: E402

DATA = ROOT / "tests/data/models"
RMS_FACTOR = 1.5
MAX_FACTOR = 2.5
N_TOP = 20
# On the tables that are not this machine's best, the longest prompt runs for these only.
LONG_EVERYWHERE = {"llama_gqa1_d64", "gemma3_d128_pattern"}
# Families that share all kernels with those above meet the other tables with short prompts: unit tests hold the tables to
# equal bits.
SHORT_ELSEWHERE = {c.name for c in F32_CASES if c.arch not in ("llama", "qwen2", "qwen3", "gemma3") or c.experts}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def tables():
    best_found = False
    for isa in model_tables():
        runs = machine_runs(isa)
        reason = f"this machine cannot run the {isa} kernels"
        yield pytest.param(isa, not best_found and runs, id=isa, marks=[] if runs else pytest.mark.skip(reason=reason))
        best_found |= runs


def max_error(case) -> float:
    return 5e-4 if case.n_layers <= 8 else 2e-3


def token_key(key: str) -> int:
    prefix, _, number = key.partition(":")
    assert prefix == "token_id", f"logprob key {key!r}, expected token_id:N"
    return int(number)


class Reference:
    def __init__(self, case):
        self.arrays = np.load(DATA / f"{case.name}.npz")
        self.meta = json.loads(self.arrays["meta"].tobytes())

    def __call__(self, what, n):
        return self.arrays[f"{what}_{n}"]


def ask(server, case, reference, n):
    """Runs prompt n and its greedy continuation. Returns tokens and per-position log-probabilities, shape-checked."""
    ids = reference("ids", n).tolist()
    n_new = max(1, case.n_greedy)
    reply = server.complete(ids[:n], echo=True, logprobs=N_TOP, max_tokens=n_new)
    choice = reply["choices"][0]
    logprobs = choice["logprobs"]
    lists = [logprobs[k] for k in ("tokens", "token_logprobs", "top_logprobs")]
    assert [len(part) for part in lists] == [n + n_new] * 3
    assert logprobs["token_logprobs"][0] is None and logprobs["top_logprobs"][0] is None
    assert len(logprobs["text_offset"]) == n + n_new
    assert reply["usage"]["prompt_tokens"] == n and reply["usage"]["completion_tokens"] == n_new
    tokens = [token_key(t) for t in logprobs["tokens"]]
    assert tokens[:n] == ids[:n]
    assert choice["token_ids"] == tokens[n:]
    top = [None if entry is None else {token_key(k): v for k, v in entry.items()} for entry in logprobs["top_logprobs"]]
    return tokens, logprobs["token_logprobs"], top


def check_top_list(entry: dict, following: int, ids, values, tolerance: float) -> None:
    """entry: the server's; ids, values: the reference's 24 best, falling."""
    assert len(entry) in (N_TOP, N_TOP + 1)
    own = sorted(entry, key=lambda t: -entry[t])[:N_TOP]
    assert set(entry) - set(own) <= {following}
    reference = dict(zip(ids.tolist(), values.tolist()))
    border = values[N_TOP - 1]  # ids this near to the border may be in or out
    missing = {t for t, v in reference.items() if v > values[N_TOP] + 2 * tolerance} - set(own)
    missing = {t for t in missing if reference[t] >= border}
    assert not missing, f"of the 20 most likely, {missing} are missing"
    for token in own:
        if token in reference:
            assert abs(entry[token] - reference[token]) <= tolerance, (token, entry[token], reference[token])
        else:
            assert entry[token] <= values[-1] + 2 * tolerance, f"{token} is not among the reference's 24 most likely"


@pytest.mark.parametrize("isa, best", list(tables()))
@pytest.mark.parametrize("case", F32_CASES, ids=lambda c: c.name)
def test_f32(case, isa, best, folder):
    reference, bound = Reference(case), max_error(case)
    path = cached(case, folder)
    assert file_hash(path) == reference.meta["gguf_sha256"], "this is not the file that the reference was made for"
    with Server(path, threads=2, isa=isa) as server:
        for n in case.prompt_lengths:
            if n > 500 and not best and case.name not in LONG_EVERYWHERE:
                continue
            if n > 17 and not best and case.name in SHORT_ELSEWHERE:
                continue
            ids, following = reference("ids", n).tolist(), reference("logprob", n)
            tokens, token_logprobs, top = ask(server, case, reference, n)
            # The prompt first: what differs there is no wrong token's fault.
            error = np.abs(np.array(token_logprobs[1:n], float) - following[: n - 1])
            assert error.size == 0 or error.max() <= bound, (
                f"prompt of {n}: token {int(error.argmax()) + 1} is off by {error.max():.2e}, "
                f"the first beyond bounds is token {int((error > bound).argmax()) + 1}")
            assert tokens[n:] == ids[n:], f"prompt of {n}: greedy tokens"
            error = np.abs(np.array(token_logprobs[n:], float) - following[n - 1:])
            assert error.max() <= bound, f"prompt of {n}: generated token {error.argmax()} is off by {error.max():.2e}"
            for row, p in enumerate(reference("pos", n).tolist()):
                check_top_list(top[p + 1], tokens[p + 1], reference("top_ids", n)[row], reference("top_lp", n)[row],
                               bound)


def deviations(case, reference, server, n):
    """Ours minus the reference's, over the most likely tokens of each position."""
    _, _, top = ask(server, case, reference, n)
    out = []
    for row, p in enumerate(reference("pos", n).tolist()):
        known = dict(zip(reference("top_ids", n)[row].tolist(), reference("top_lp", n)[row].tolist()))
        best = sorted(top[p + 1].items(), key=lambda item: -item[1])[:N_TOP]
        both = [value - known[token] for token, value in best if token in known]
        assert len(both) >= N_TOP - 8, f"position {p}: only {len(both)} of 20 most likely tokens are the reference's"
        out += both
    return np.array(out)


@pytest.mark.parametrize("isa, best", list(tables()))
@pytest.mark.parametrize("case", QUANT_CASES, ids=lambda c: c.name)
def test_quantised(case, isa, best, folder, record_property):
    reference = Reference(case)
    path = cached(case, folder)
    assert file_hash(path) == reference.meta["gguf_sha256"], "this is not the file that the reference was made for"
    with Server(path, threads=2, isa=isa) as server:
        d = np.concatenate([deviations(case, reference, server, n) for n in case.prompt_lengths])
    rms, largest = math.sqrt((d * d).mean()), np.abs(d).max()
    record_property("rms", float(rms))
    record_property("max", float(largest))
    if case.exact:
        assert largest <= max_error(case)
    else:
        sim_rms, sim_max = reference.meta["sim_rms"], reference.meta["sim_max"]
        record_property("sim_rms", sim_rms)
        assert rms <= RMS_FACTOR * sim_rms, f"rms {rms:.4f}, simulated {sim_rms:.4f}"
        assert largest <= MAX_FACTOR * sim_max, f"largest {largest:.4f}, simulated {sim_max:.4f}"


@pytest.mark.parametrize("name", ["qwen3next", "qwen35", "qwen35moe", "glm4moe", "nemotron_h_moe", "nemotron_h_moe_latent"])
def test_layers_for_drafts_change_nothing(name, folder, tmp_path):
    """They are loaded, and the same bits come out as from the file without them."""
    case, replies = CASES[name], []
    prompt = Reference(case)("ids", 200).tolist()[:200]
    drafted = cached(replace(case, drafts=1), tmp_path)
    for path in (cached(case, folder), drafted):
        with Server(path, threads=2) as server:
            replies.append(server.complete(prompt, echo=True, logprobs=N_TOP, max_tokens=8)["choices"])
    assert replies[0] == replies[1]
    done = subprocess.run([binary(), "doctor", drafted, "--json"], capture_output=True, text=True, timeout=60, check=False)
    details = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "model")["details"]
    shapes = draft_shapes(case, case.n_layers).values()
    held = sum(math.prod(shape) for shape in shapes if math.prod(shape[:-1]) > 1)  # a single row is a vector
    assert details["draft_bytes"] == 4 * held


def test_every_case_has_a_reference_and_every_reference_a_case():
    assert {p.stem for p in DATA.glob("*.npz")} == set(CASES)


def test_every_architecture_and_kernel_table_is_covered():
    import re
    listed = re.findall(r'^T9_MODEL\("([^"]+)"', (ROOT / "src/models/list.inc").read_text(), re.M)
    # Those that only embed have their own (test_embedders.py).
    assert listed and set(listed) <= {c.arch for c in F32_CASES} | {c.arch for c in EMBEDDERS.values()}
    assert set(kernel_tables()) <= set(ISA_FLAGS), "say in models_server.py what the new table needs"


def test_prompt_alone(folder):
    """max_tokens 0 with echo: the prompt's log-probabilities and nothing else."""
    case = CASES["llama_gqa1_d64"]
    reference = Reference(case)
    with Server(cached(case, folder)) as server:
        ids = reference("ids", 17).tolist()[:17]
        reply = server.complete(ids, echo=True, logprobs=1, max_tokens=0)
    logprobs = reply["choices"][0]["logprobs"]
    assert [token_key(t) for t in logprobs["tokens"]] == ids
    assert np.abs(np.array(logprobs["token_logprobs"][1:]) - reference("logprob", 17)[:16]).max() <= max_error(case)
    assert reply["usage"]["completion_tokens"] == 0
