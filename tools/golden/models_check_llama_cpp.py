"""Checks the committed references against llama.cpp, which shares no code with transformers.

  python tools/golden/models_check_llama_cpp.py --server .../llama-server [case ...]

For each F32 case: after each prompt, 64 greedy tokens; the tokens must be equal and the log-probabilities close. Seen:
up to 2.5e-4, with Gemma up to 1.5e-2, because llama.cpp reads its GELU from a table of f16 values. qwen3_yarn differs unless
llama-server gets --yarn-beta-fast 24 --yarn-beta-slow 2: it reads these two keys for few architectures. gemma4_shared_apart
it does not load. Quantised cases can be named too; there llama.cpp's own activation quantisation shows (a few hundredths).
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from models_cases import CASES, F32_CASES
from models_gguf import cached

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "models"


def post(port, path, body, timeout=120):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return json.load(reply)


def start(server, path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [server, "-m", path, "--port", str(port), "-c", "2048", "-np", "1", "-t", "1", "-fa", "off",
               "-ctk", "f32", "-ctv", "f32", "--no-warmup", "-ngl", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
            return process, port
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"llama-server ended with {process.returncode} on {path}")
            time.sleep(0.1)
    raise RuntimeError("llama-server did not come up in 20 s")


def check(case, server, folder):
    data = np.load(DATA / f"{case.name}.npz")
    process, port = start(server, cached(case, folder))
    worst, wrong, n_compared = 0.0, 0, 0
    try:
        for n in case.prompt_lengths:
            ids, pos = data[f"ids_{n}"].tolist(), data[f"pos_{n}"].tolist()
            for k in range(max(1, case.n_greedy)):
                # One token a request: llama.cpp drops entries of tokens that end inside a UTF-8 character.
                reply = post(port, "/completion", {"prompt": ids[:n + k], "n_predict": 1, "temperature": 0,
                                                   "n_probs": 20, "cache_prompt": True, "return_tokens": True})
                wrong += case.n_greedy > 0 and reply["tokens"] != [ids[n + k]]
                if "completion_probabilities" not in reply:
                    continue
                n_compared += 1
                row = pos.index(n - 1 + k)
                want = dict(zip(data[f"top_ids_{n}"][row].tolist(), data[f"top_lp_{n}"][row].tolist()))
                got = {t["id"]: t["logprob"] for t in reply["completion_probabilities"][0]["top_logprobs"]}
                worst = max([worst] + [abs(got[i] - want[i]) for i in got.keys() & want.keys()])
    finally:
        process.terminate()
        process.wait(timeout=20)
    print(f"{case.name}: {n_compared} positions, greatest log-probability difference {worst:.2e}, {wrong} other greedy "
          "tokens", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        for case in [CASES[n] for n in args.cases] or F32_CASES:
            try:
                check(case, args.server, Path(tmp))
            except RuntimeError as error:
                print(f"{case.name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
