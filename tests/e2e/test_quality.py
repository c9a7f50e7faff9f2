"""`tempo9 quality` on tiny models, beside the log-probabilities that the server gives for the same tokens."""

import json
import math
import sys
from pathlib import Path

import pytest
from conftest import run_binary

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

from models_cases import CASES  # noqa: E402
from models_gguf import cached  # noqa: E402
from models_server import Server  # noqa: E402

pytestmark = pytest.mark.values

CONTEXT = 200  # no multiple of pages or of a step's rows
TEXT = "".join(f"line {n}: {n * n} = {n}²; \0 and a <|end|> that is text\n" for n in range(60))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: cached(CASES[name], folder) for name in ("qwen2_gqa7_d64_tied", "gemma3_d256", "quant_mix_q5_0_q8_0")}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return path


def quality(*args) -> dict:
    done = run_binary("quality", *args, "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and done.stdout.count("\n") == 1
    return json.loads(done.stdout)


@pytest.mark.parametrize("name, bos", [("qwen2_gqa7_d64_tied", False), ("gemma3_d256", True)])
def test_the_second_half_of_each_chunk_is_scored(models, text, name, bos):
    found = quality(models[name], "--text", text, "--context", CONTEXT, "--chunks", 2, "--kv-type", "f32", "--positions")
    scored = CONTEXT - CONTEXT // 2 - 1
    assert (found["n_scored"], found["n_chunks"], found["context"]) == (2 * scored, 2, CONTEXT)
    with Server(models[name]) as server:
        status, raw = server.request("POST", "/tokenize", {"content": TEXT, "add_special": True})
        assert status == 200, raw
        tokens = json.loads(raw)["tokens"]
        expected = []
        for begin in (0, CONTEXT):
            chunk = tokens[begin:begin + CONTEXT]
            if bos:
                chunk[0] = tokens[0]
            logprobs = server.complete(chunk, echo=True, logprobs=1, max_tokens=1)["choices"][0]["logprobs"]
            for i in range(CONTEXT // 2 + 1, CONTEXT):
                top = max(logprobs["top_logprobs"][i].items(), key=lambda entry: entry[1])
                expected.append((chunk[i], logprobs["token_logprobs"][i], int(top[0].removeprefix("token_id:"))))
    assert [p["token"] for p in found["positions"]] == [token for token, _, _ in expected]
    assert [p["top_1"] for p in found["positions"]] == [top for _, _, top in expected]
    assert [p["logprob"] for p in found["positions"]] == pytest.approx([p for _, p, _ in expected], abs=1e-4)
    nll = [-p for _, p, _ in expected]
    mean = sum(nll) / len(nll)
    assert found["perplexity"] == pytest.approx(math.exp(mean), rel=1e-4)
    spread = math.sqrt(sum((x - mean) ** 2 for x in nll) / len(nll) / (len(nll) - 1))
    assert found["standard_error"] == pytest.approx(math.exp(mean) * spread, rel=1e-3)


def test_against_another_model(models, text):
    exact = models["qwen2_gqa7_d64_tied"]
    same = quality(exact, "--text", text, "--context", CONTEXT, "--against", exact)
    assert same["against"] == {"model": str(exact), "perplexity": same["perplexity"], "kl_divergence": 0, "same_top_1": 1}
    for kv_type in ("f16", "q8_0"):
        other = quality(exact, "--text", text, "--context", CONTEXT, "--kv-type", kv_type)
        assert other["perplexity"] == pytest.approx(same["perplexity"], rel=0.01)
        assert other["perplexity"] != same["perplexity"]


def test_what_a_reader_sees(models, text):
    done = run_binary("quality", "--gguf", models["gemma3_d256"], "--text", text, "--context", 64, "--chunks", 1)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("perplexity ") and done.stdout.endswith("over 31 tokens (1 chunks of 64)\n")


@pytest.mark.parametrize("args, code, words", [
    (["--text", "TEXT"], 2, "expected one model"),
    (["MODEL"], 2, "--text"),
    (["MODEL", "--text", "TEXT", "--context", "7"], 2, "--context: found \"7\", expected a whole number from 8"),
    (["MODEL", "--text", "TEXT", "--positions"], 2, "--positions: found it without --json"),
    (["MODEL", "--text", "TEXT", "--kv-type", "x"], 1, "x"),
    (["MODEL", "--text", "/no/such"], 1, "--text: cannot open /no/such"),
    (["MODEL", "--text", "/"], 1, "--text: expected a file, found folder /"),
    (["MODEL", "--text", "/dev/null"], 1, "the text has 0 tokens, expected at least one chunk of 512"),
    (["MODEL", "--text", "TEXT", "--context", "100000"], 1, "give a longer text or a smaller --context"),
    (["MODEL", "--text", "TEXT", "--against", "OTHER"], 1, "only models of one vocabulary can be compared"),
    (["TEXT", "--text", "TEXT"], 1, "GGUF"),
])
def test_what_it_refuses(models, text, args, code, words):
    names = {"MODEL": models["qwen2_gqa7_d64_tied"], "OTHER": models["gemma3_d256"], "TEXT": text}
    done = run_binary("quality", *[names.get(a, a) for a in args])
    assert done.returncode == code and words in done.stderr, done.stderr
    assert done.stdout == ""
