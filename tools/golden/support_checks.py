"""What tools/support_matrix asks of each family. The checks themselves are the tests': tests/golden, tests/e2e, `tempo9 doctor`.

A check gives a verdict: YES, a text that begins with FAILED or UNTESTED and goes on with why, or NOTHING (such a model has none
of that).
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/golden"), str(ROOT / "tests/golden"), str(ROOT / "tests/e2e")]

import conftest  # noqa: E402
import depth_reference  # noqa: E402
import embedders  # noqa: E402
import test_embedders  # noqa: E402
import test_models  # noqa: E402
import test_models_determinism as determinism  # noqa: E402
import test_script  # noqa: E402
from models_gguf import cached, file_hash  # noqa: E402
from models_server import Server, binary  # noqa: E402

YES, NOTHING, FAILED, UNTESTED = "yes", "-", "failed", "untested"
COLUMNS = ("text", "depth", "thinking", "tools", "determinism", "cache")
SECONDS = 1800  # for one answer

# Whose replies (tests/data/chat/format_cases.json, by template) are a family's, or written as its are. A family that is not here has its text tested,
# and "untested" under thinking and tools.
REPLIES = {
    "llama": ["meta-llama-Llama-3.1-8B-Instruct", "mistralai-Mistral-Nemo-Instruct-2407"],
    "qwen2": ["Qwen-Qwen2.5-7B-Instruct"],
    "qwen3": ["Qwen-Qwen3-0.6B"],
    "qwen3moe": ["Qwen-Qwen3-0.6B", "Qwen3-Coder"],
    "qwen3vl": ["Qwen-Qwen3-0.6B"],
    "qwen3vlmoe": ["Qwen-Qwen3-0.6B"],
    "qwen3next": ["Qwen-Qwen3-0.6B", "Qwen3-Coder"],
    "qwen35": ["Qwen3.5-4B"],
    "qwen35moe": ["Qwen3.5-4B"],
    "mistral3": ["mistralai-Ministral-3-14B-Reasoning-2512"],
    "nemotron_h": ["NVIDIA-Nemotron-Nano-v2"],
    "nemotron_h_moe": ["NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"],
    "gemma2": ["google-gemma-2-2b-it"],
    "gemma3": ["google-gemma-2-2b-it"],
    "gemma4": ["google-gemma-4-31B-it"],
    "glm4moe": ["GLM-4.6"],
    "deepseek2": ["deepseek-ai-DeepSeek-V3.1", "deepseek-ai-DeepSeek-V3.2", "GLM-4.7-Flash", "moonshotai-Kimi-K2"],
    "gpt-oss": ["openai-gpt-oss-120b"],
    "lfm2": ["LFM2.5-8B-A1B"],
    "lfm2moe": ["LFM2.5-8B-A1B"],
}
NO_THINKING, NO_TOOLS = {"qwen2", "gemma2", "gemma3"}, {"gemma2"}  # embedding models write nothing at all


def verdict(check, *arguments) -> str:
    """Of a check that raises when it fails."""
    try:
        return check(*arguments) or YES
    except Exception as error:  # the table has a row for each family, whatever happens
        lines = (str(error) or type(error).__name__).splitlines()
        return f"{FAILED}: {lines[0][:160]}"


def in_every_circumstance(path: Path) -> tuple[str, str]:
    """Verdicts on determinism (threads, slices, neighbours) and on caching (from memory; from disk after a restart)."""
    done = subprocess.run([binary(), "doctor", "--determinism", path, "--json", "--max-length", "1024"], capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    proof = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "determinism")
    cases = proof["details"].get("cases", [])
    from_cache = [c for c in cases if "cached" in c["name"] or "disk" in c["name"]]
    others = [c for c in cases if c not in from_cache]

    def bits(chosen, words) -> str:
        missing = [word for word in words if not any(word in c["name"] for c in chosen)]
        different = [c["name"] for c in chosen if c["different"] or not c["replies"]]
        if missing or different:
            return f"{FAILED}: {', '.join(different or missing) or proof['found']}"
        return YES

    return (bits(others, ("1 thread", "2 threads", "slices", "beside 7 others")),
            bits(from_cache, ("50 % of the prompt cached", "99 %", "disk after a restart")))


def scripted(arch: str) -> tuple[str, str]:
    """Verdicts on thinking and tools: what the family's own template writes, read as its output format."""
    names = REPLIES.get(arch, [])
    cases = [c for c in test_script.FORMATS["cases"] if c["template"] in names]
    if not cases or len(cases) < len(names):
        missing = sorted(set(names) - {c["template"] for c in cases})
        return (f"{UNTESTED}: no reply of this family is kept" + f" {missing}" * bool(missing),) * 2

    def play(case) -> None:
        with contextlib.ExitStack() as running, tempfile.TemporaryDirectory() as folder:
            def serve(lines):
                path = Path(folder) / "script.jsonl"
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
                server = conftest.Server("serve", "--script", path)
                running.callback(server.stop)
                return server
            test_script.test_every_formats_calls_arrive_streamed_and_whole(serve, case)

    failed = [v for v in (verdict(play, case) for case in cases) if v != YES]
    thinks = any(case["thinking"] for case in cases)
    calls = any(case["calls"] for case in cases)
    untested = f"{UNTESTED}: the replies kept have none"
    return ((failed or [YES if thinks else NOTHING if arch in NO_THINKING else untested])[0],
            (failed or [YES if calls else NOTHING if arch in NO_TOOLS else untested])[0])


def at_depth(case, folder: Path):
    """Log-probabilities behind 10 000 tokens."""
    reference = depth_reference.OUT / f"{case.arch}.npz"
    if not reference.exists():
        return f"{UNTESTED}: tools/golden/depth_reference.py {case.arch} was not run"
    arrays, path = np.load(reference), cached(case, folder)
    meta = json.loads(arrays["meta"].tobytes())
    assert (meta["case"], meta["gguf_sha256"]) == (case.name, file_hash(path)), "the reference is another model's"
    prompt, n = depth_reference.depth_prompt(case), depth_reference.N_DEPTH
    with Server(path, threads=2, max_length=n + 32) as server:
        reply = server.complete(prompt, echo=True, logprobs=test_models.N_TOP, max_tokens=1)["choices"][0]
    tokens = [test_models.token_key(t) for t in reply["logprobs"]["tokens"]]
    assert tokens[:n] == prompt and len(tokens) == n + 1
    for row, p in enumerate(arrays["pos"].tolist()):
        top = {test_models.token_key(k): v for k, v in reply["logprobs"]["top_logprobs"][p + 1].items()}
        test_models.check_top_list(top, tokens[p + 1], arrays["top_ids"][row], arrays["top_lp"][row], 2e-3)
    return YES


def tiny_decoder(case, folder: Path) -> dict[str, str]:
    thinking, tools = scripted(case.arch)
    same, restored = in_every_circumstance(cached(case, folder))
    return {"text": verdict(test_models.test_f32, case, None, True, folder), "depth": verdict(at_depth, case, folder),
            "thinking": thinking, "tools": tools, "determinism": same, "cache": restored}


def tiny_embedder(case, folder: Path) -> dict[str, str]:
    return dict.fromkeys(COLUMNS, NOTHING) | {
        "text": verdict(test_embedders.test_reference, case, None, folder),
        "determinism": verdict(test_embedders.test_equal_bits, case.name, folder)}


def tiny_case(arch: str):
    """The family's first model of 32 bits, with its check; None: there is none."""
    decoder = depth_reference.depth_case(arch)
    if decoder:
        return decoder, tiny_decoder
    found = next((c for c in embedders.EMBEDDERS.values() if c.arch == arch and not c.types), None)
    return found and (found, tiny_embedder)


# Real weights: architecture, key in scripts/models.json, name; how long its context is; whether it calls tools.
REAL = [("llama", "smollm2", "SmolLM2 135M Q4_1", 8192, True), ("qwen2", "qwen", "Qwen2.5-Coder 0.5B Q4_K_M", 32768, True),
        ("gemma3", "gemma3", "Gemma 3 270M Q4_K_M", 32768, False)]
NEEDLE = "The pass code of the lighthouse is 58213."


def find_needle(path: Path) -> None:
    """A sentence in the middle of 10 000 tokens, begun again at their end."""
    def line(i):
        return f"Page {i}: the ferry of {i % 12 + 6} o'clock carried {i * 7919 % 431} passengers and {i * 31 % 97} crates.\n"

    with Server(path, threads=2, kv_type="i16", max_length=10_400) as server:
        def tokens(text):
            return json.loads(server.request("POST", "/tokenize", {"prompt": text})[1])["tokens"]
        n_lines = (depth_reference.N_DEPTH - 40) * 50 // len(tokens("".join(map(line, range(50)))))
        lines = [line(i) for i in range(n_lines)]
        lines.insert(n_lines // 2, NEEDLE + "\n")
        prompt = tokens("".join(lines) + NEEDLE.rsplit(" ", 1)[0])
        assert 9_500 < len(prompt) < 10_400, f"a prompt of {len(prompt)} tokens"
        body = {"model": "m", "prompt": prompt, "temperature": 0, "max_tokens": 8}
        status, raw = server.request("POST", "/v1/completions", body, timeout=SECONDS)
    assert status == 200, raw
    text = json.loads(raw)["choices"][0]["text"]
    assert text.strip().startswith("58213"), f"the needle was not found: {text!r}"


def call_a_tool(path: Path) -> None:
    with contextlib.closing(Server(path, threads=2, kv_type="i16", max_length=2048)) as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "How is the weather in Lund? Use the tool."}],
                "tools": [conftest.WEATHER], "tool_choice": "required", "temperature": 0, "max_tokens": 200}
        status, raw = server.request("POST", "/v1/chat/completions", body, timeout=SECONDS)
    assert status == 200, raw
    call = json.loads(raw)["choices"][0]["message"]["tool_calls"][0]["function"]
    assert call["name"] == "get_weather" and json.loads(call["arguments"])["city"].startswith("Lund"), call


def against_reference(key: str, path: Path):
    """The top lists of a short text, beside those of transformers with the file's weights in fp32: as in test_quantised."""
    reference = ROOT / f"tests/data/real/{key}.npz"
    if not reference.exists():
        return f"{UNTESTED}: tools/golden/real_reference.py {key} was not run"
    arrays = np.load(reference)
    meta = json.loads(arrays["meta"].tobytes())
    with Server(path, threads=2) as server:
        prompt = arrays["ids"].tolist()
        body = dict(echo=True, logprobs=test_models.N_TOP, max_tokens=1)
        listed = server.complete(prompt, **body)["choices"][0]["logprobs"]["top_logprobs"]
    deviations = []
    for row, p in enumerate(arrays["pos"].tolist()):
        known = dict(zip(arrays["top_ids"][row].tolist(), arrays["top_lp"][row].tolist()))
        top = {test_models.token_key(k): v for k, v in listed[p + 1].items()}
        deviations += [value - known[token] for token, value in top.items() if token in known]
    d = np.array(deviations)
    rms, largest = float(np.sqrt((d * d).mean())), float(np.abs(d).max())
    assert len(d) >= 12 * len(arrays["pos"]), f"only {len(d)} of the most likely tokens are the reference's"
    assert rms <= test_models.RMS_FACTOR * meta["sim_rms"], f"rms {rms:.4f}, simulated {meta['sim_rms']:.4f}"
    assert largest <= test_models.MAX_FACTOR * meta["sim_max"], f"largest {largest:.3f}, simulated {meta['sim_max']:.3f}"
    return YES


def real(key: str, context: int, tools: bool) -> dict[str, str]:
    path = determinism.real_model(json.loads((ROOT / "scripts/models.json").read_text())[key]["file"])
    if not path.exists():
        return dict.fromkeys(COLUMNS, f"{UNTESTED}: scripts/fetch-model {key} was not run")
    same, restored = in_every_circumstance(path)
    return {"text": verdict(against_reference, key, path), "depth": verdict(find_needle, path) if context >= 10_400 else NOTHING,
            "thinking": NOTHING, "tools": verdict(call_a_tool, path) if tools else NOTHING,
            "determinism": same, "cache": restored}


def architectures() -> list[str]:
    """What the program itself says that it runs."""
    done = subprocess.run([binary(), "list", "--architectures"], capture_output=True, text=True, timeout=60, check=True,
                          env=os.environ)
    return done.stdout.split()
