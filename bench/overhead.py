#!/usr/bin/env python3
"""What the server itself costs, in processor time, which other work on the machine changes little:

    bench/overhead.py [--gguf MODEL.gguf] [--binary build/release/tempo9]

- a streamed token: everything but the model's step, eight streams at once, each door (script mode: the step is nothing);
- a request of 1 MB before the engine sees it: read, rendered and made tokens (the count of /v1/messages/count_tokens);
- one more turn of a conversation of more than 200,000 tokens, which is not made tokens anew.

--gguf: its tokenizer and template are used, its weights are not read; without it a token is a byte. Prints one JSON line
a figure. The limits are 150 us, 60 ms and 60 ms; the exit status is 1 when one is passed.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
N_STREAMS, N_TOKENS = 8, 2000
TICKS = os.sysconf("SC_CLK_TCK")
DOORS = {"/v1/chat/completions": {}, "/v1/responses": {}, "/v1/messages": {}, "/api/chat": {}}
SYLLABLES = ("ka", "lo", "mi", "ren", "tus", "va", "ber", "ing", "est", "or", "qua", "pli", "dan", "fe", "sol", "ty")


class Server:
    def __init__(self, binary: Path, script: list, *flags):
        file = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
        file.write("".join(json.dumps(line) + "\n" for line in script))
        file.flush()
        self.script = file
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPO9_", "AS_"))}
        self.process = subprocess.Popen([binary, "--script", file.name, "--max-length", "400000", *map(str, flags), "--port", "0"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=kept | {"AS_KV_OFFLOAD": "0"})
        self.url = re.search(r"http://127\.0\.0\.1:\d+", self.process.stdout.readline())[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def seconds(self) -> float:
        """Of all threads, in user and kernel mode; the scheduler's count, in nanoseconds."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def post(self, path: str, body: bytes) -> bytes:
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"})
        return urllib.request.urlopen(request, timeout=600).read()


def streamed_token(server: Server, path: str) -> float:
    body = {"model": "m", "stream": True, "max_tokens": N_TOKENS + 1}
    body |= {"input": "go", "max_output_tokens": N_TOKENS + 1} if path == "/v1/responses" else {"messages": [{"role": "user", "content": "go"}]}
    data = json.dumps(body).encode()
    before, answers = server.seconds(), []
    threads = [threading.Thread(target=lambda: answers.append(server.post(path, data))) for _ in range(N_STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(answer.count(b"Q") >= N_TOKENS for answer in answers), f"{path}: a stream is short"
    return (server.seconds() - before) / (N_STREAMS * N_TOKENS)


def counted(server: Server, messages: list, fresh: str) -> tuple[float, int]:
    """fresh: stands first, so that nothing of it has been seen before."""
    body = {"model": "m", "messages": [{"role": "user", "content": fresh}, {"role": "assistant", "content": "Yes."}, *messages]}
    data = json.dumps(body).encode()
    before = server.seconds()
    n = json.loads(server.post("/v1/messages/count_tokens", data))["input_tokens"]
    return server.seconds() - before, n


def conversation(n_bytes: int, n_turns: int) -> list:
    """Of words that hardly ever come twice: a tokenizer that remembers words has no use of it."""
    draw = random.Random(9)
    def text(n):
        out = ""
        while len(out) < n:
            out += "".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) + draw.choice((" ", " ", ", ", ".\n", " = ", "_", "(", "): "))
        return out
    return [{"role": ("user", "assistant")[i % 2], "content": text(n_bytes // n_turns)} for i in range(n_turns)]


def tell(name: str, value: float, limit: float, **more) -> bool:
    print(json.dumps({"figure": name, "value": round(value, 7), "limit": limit, "kept": value <= limit} | more), flush=True)
    return value <= limit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/tempo9")
    arguments = parser.parse_args()
    flags = ["--gguf", arguments.gguf] if arguments.gguf else []
    kept = True
    with Server(arguments.binary, [{"pieces": ["Q"] * N_TOKENS, "delay_ms": 2}]) as server:
        for path in DOORS:
            values = [streamed_token(server, path) for _ in range(3)]
            kept &= tell(f"seconds a streamed token, {path}", statistics.median(values), 150e-6)
    with Server(arguments.binary, [{"text": "ok"}], *flags) as server:
        one_megabyte = conversation(1_000_000 if arguments.gguf else 300_000, 40)
        values = [counted(server, one_megabyte, f"case {i}") for i in range(3)]
        kept &= tell("seconds of a request of 1 MB", statistics.median(v for v, _ in values), 60e-3, tokens=values[0][1])
        long = conversation(880_000 if arguments.gguf else 200_000, 60)
        first, n_first = counted(server, long, "long")
        again, n_again = counted(server, [*long, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "More?"}], "long")
        kept &= tell("seconds of a follow-up", again, 60e-3, first_seconds=round(first, 4), tokens=n_first, follow_up_tokens=n_again)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
