"""A request's bytes depend on the request alone: not on threads, not on who else is being served, not on cached prefixes.

Everything is compared with ==, log-probabilities included (they are the f32 sums themselves). Kernel tables may differ
from each other; each is held to its own runs.
"""

import json
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

from models_cases import CASES  # noqa: E402
from models_gguf import cached  # noqa: E402
from models_server import Server, binary, kernel_tables, machine_runs, model_tables  # noqa: E402
from models_weights import token_ids  # noqa: E402

TINY = ["llama_gqa2_d80_llama3", "qwen2_gqa7_d64_tied", "qwen3_gqa3_d80", "gemma3_d256", "quant_q4_k", "quant_q6_k",
        "quant_q8_0_k32", "quant_mix_q5_0_q8_0", "quant_q4_1_k32", "quant_gemma3_q8_0", "quant_iq4_xs", "quant_bf16"]
# Each operation that the families add: soft caps, growing queries, experts (of every router), sinks.
# Recurrent layers besides; keys and values that several layers read.
FAMILIES = ["lfm2", "lfm2moe", "quant_lfm2_q4_k", "gemma2_d64", "mistral3", "quant_qwen3moe_q4_k", "glm4moe_groups_norm", "quant_gpt_oss_mxfp4",
            "nemotron_h_moe_latent", "quant_nemotron_h_q8_0", "qwen3next", "qwen35",
            "gemma4", "quant_gemma4_moe_q8_0", "deepseek_v2_groups", "quant_deepseek_v3_q8_0"]
REAL = ["qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "smollm2-135m-instruct-q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"]
SAMPLED = {"temperature": 0.8, "top_p": 0.95, "top_k": 40, "seed": 11}

REAL_PROMPT = """# The inventory keeps one record a part: number, name, place, count and the day it was last counted.
# write_report() prints parts that are short, the shortest first, and returns how many there were.
import datetime

class Part:
    def __init__(self, number, name, place, count, counted):
        self.number = number
        self.name = name
        self.place = place
        self.count = count
        self.counted = counted

def load(path):
    parts = []
    with open(path) as lines:
        for line in lines:
            number, name, place, count, counted = line.rstrip().split(";")
            parts.append(Part(int(number), name, place, int(count), datetime.date.fromisoformat(counted)))
    return parts

def write_report(parts, limit):
"""


def tables():
    for isa in model_tables():
        skip = pytest.mark.skip(reason=f"this machine cannot run the {isa} kernels")
        yield pytest.param(isa, id=isa, marks=[] if machine_runs(isa) else skip)


def result(reply) -> dict:
    """What must be equal: everything but the reply's id and time and where prompt tokens came from."""
    return {"choices": reply["choices"], "completion_tokens": reply["usage"]["completion_tokens"]}


class Neighbours:
    """Other requests, starting at times drawn from a seed until the block ends."""

    def __init__(self, server, prompts, seed, n_new):
        self._n_new = n_new
        self._stop = threading.Event()
        self.errors = []
        self.n_done = 0
        rng = random.Random(seed)
        self._threads = [threading.Thread(target=self._run, args=(server, p, rng.random())) for p in prompts]

    def _run(self, server, prompt, seed):
        rng = random.Random(seed)
        while not self._stop.wait(rng.uniform(0, 0.05)):
            try:
                cut = rng.randrange(1, len(prompt) + 1)
                server.complete(prompt[:cut], max_tokens=rng.randrange(1, self._n_new + 1), temperature=rng.choice([0, 1.0]))
                self.n_done += 1
            except Exception as error:  # a thread's exception would be lost
                self.errors.append(error)
                return

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self.errors, self.errors[0]
        assert self.n_done > 0


def tiny_requests(prompts, n_new):
    """(prompt, fields): greedy with log-probabilities over prompt and reply, over the reply only (so that the prompt may
    come from the cache), and sampled."""
    for prompt in prompts:
        yield prompt, {"max_tokens": n_new, "logprobs": 5, "echo": True}
        yield prompt, {"max_tokens": n_new, "logprobs": 5}
        yield prompt, {"max_tokens": n_new} | SAMPLED


def check(path, isa, wanted, neighbours, at_once=True, kv_type="i16"):
    """wanted: (prompt, fields); one thread, then from the cache, then two threads beside neighbours, then all at once."""
    n_new = max(fields["max_tokens"] for _, fields in wanted)
    with Server(path, threads=1, isa=isa, kv_type=kv_type) as server:
        first = [result(server.complete(p, **fields)) for p, fields in wanted]
        assert all(r["completion_tokens"] == fields["max_tokens"] for r, (_, fields) in zip(first, wanted))
        replies = [server.complete(p, **fields) for p, fields in reversed(wanted)]
        assert [result(r) for r in replies][::-1] == first, "the second time, with whatever prefix is cached"
        cached_tokens = [r["usage"]["prompt_tokens_details"]["cached_tokens"] for r in replies]
        assert any(cached_tokens), "nothing came from the prefix cache, so nothing was tested"
    with Server(path, threads=2, isa=isa, kv_type=kv_type) as server:
        with Neighbours(server, neighbours, path.name, n_new) as others:
            for _ in range(50):  # a fast machine may answer all before a neighbour's first reply has ended
                beside = [result(server.complete(p, **fields)) for p, fields in wanted]
                assert beside == first, "two threads, beside three others"
                if others.n_done > 0 or others.errors:
                    break
        if at_once:
            with ThreadPoolExecutor(len(wanted)) as pool:
                together = list(pool.map(lambda request: result(server.complete(request[0], **request[1])), wanted))
            assert together == first, "two threads, all at once"


@pytest.mark.parametrize("isa", list(tables()))
@pytest.mark.parametrize("name", TINY)
def test_tiny(name, isa, tmp_path):
    check_tiny(name, isa, tmp_path)


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name, tmp_path):
    """On this machine's best table."""
    check_tiny(name, best_table(), tmp_path)


@pytest.mark.parametrize("name", ["qwen2_gqa7_d64_tied", "gemma3_d256", "deepseek_v3"])
def test_8_bit_kv(name, tmp_path):
    check_tiny(name, best_table(), tmp_path, kv_type="q8_0")


@pytest.mark.parametrize("name", ["qwen2_gqa7_d64_tied", "gemma3_d256", "quant_mix_q5_0_q8_0", "lfm2", "gemma4", "deepseek_v3"])
def test_every_circumstance(name, tmp_path):
    """The user's own proof: slices of 64, 512 and 2048, hits of 0 to 99 %, 1, 3 and 7 neighbours that arrive meanwhile, pages
    from memory and from disk, 1 and 2 threads; greedy and sampled."""
    path = cached(CASES[name], tmp_path)
    done = subprocess.run([binary(), "doctor", "--determinism", path, "--json", "--max-length", "1024"], capture_output=True,
                          text=True, timeout=300, check=False)
    proof = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "determinism")
    assert proof["status"] == "ok" and not proof["details"]["left_out"], proof
    cases = {case["name"]: case for case in proof["details"]["cases"]}
    assert len(cases) >= 13 and {"beside 7 others", "the prompt in slices of 512", "2 threads", "50 % of the prompt cached",
                                 "the prompt read from disk after a restart"} <= set(cases)
    assert all(case["replies"] == 2 and case["different"] == 0 for case in cases.values()), proof


def best_table() -> str:
    return next(isa for isa in kernel_tables() if machine_runs(isa))


def check_tiny(name, isa, tmp_path, kv_type="i16"):
    case = CASES[name]
    slow = isa == "scalar"
    prompts = [token_ids(f"determinism/{n}", n, case.V) for n in ((1, 70) if slow else (1, 40, 300))]
    neighbours = [token_ids(f"neighbour/{i}", 50 if slow else 150 + 40 * i, case.V) for i in range(2)] + prompts[-1:]
    wanted = list(tiny_requests(prompts, n_new=6 if slow else 24))
    check(cached(case, tmp_path), isa, wanted, neighbours, kv_type=kv_type)


def real_model(name: str) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TEMPO9_MODELS", Path(home) / "tempo9/models")) / name


@pytest.mark.model
@pytest.mark.parametrize("isa", list(tables()))
@pytest.mark.parametrize("name", REAL)
def test_real(name, isa):
    path = real_model(name)
    if not path.exists():
        pytest.skip(f"{path} is not there: scripts/fetch-model gets it")
    with Server(path, threads=2) as server:
        ids = json.loads(server.request("POST", "/tokenize", {"prompt": REAL_PROMPT})[1])["tokens"]
    n_new = 24
    if isa == "scalar":  # a token takes most of a second
        ids, n_new = ids[:16], 3
    wanted = [(ids, {"max_tokens": n_new, "logprobs": 5}), (ids, {"max_tokens": n_new} | SAMPLED)]
    check(path, isa, wanted, [ids[::-1], ids[7:], ids[:9] + ids[4:]], at_once=False)
