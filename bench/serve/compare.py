#!/usr/bin/env python3
"""Tempo9 beside llama.cpp's server: same file, same machine, same load, turn by turn. Method: docs/benchmarks.md.

  bench/serve/compare.py --llama-server .../llama-server MODEL.gguf [MODEL.gguf ...]

Writes bench/results/<model>.json with everything measured, and the table in docs/benchmarks.md. Also from the
environment: TEMPO9_BIN, LLAMA_SERVER.
"""

import argparse
import fcntl
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from engines import LlamaCpp, Running, Settings, Tempo9, machine_busy_s  # noqa: E402
from load import Prompts, own_cpu_s, run, together_rate  # noqa: E402
from report import CELLS, write_tables  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# Running text of this repository: what coding agents send.
TEXT_FILES = ("docs/HACKING.md", "docs/architecture.md", "src/ops/program.h", "src/engine/engine.h")


def machine() -> dict:
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return {"cpu": cpu[1] if cpu else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(int(memory[1]) / 2**20, 1), "system": platform.release()}


def commit() -> str:
    def git(*args):
        return subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True, check=False).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "CMakeLists.txt", "cmake")
    return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")


def tokenize(port: int) -> list[int]:
    text = "\n".join((ROOT / name).read_text() for name in TEXT_FILES)
    body = json.dumps({"content": text, "add_special": False, "add_special_tokens": False}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/tokenize", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["tokens"]


class Round:
    """One engine's turn: every cell once or more, from a fresh start."""

    def __init__(self, running: Running, prompts: Prompts, log):
        self.running, self.prompts, self.log = running, prompts, log
        self.values: dict[str, list[float]] = {}
        self.raw: list[dict] = []

    def measure(self, cell: str, requests, value, max_cached: int | None = None) -> list:
        busy, own, engine, begin = machine_busy_s(), own_cpu_s(), self.running.cpu_s(), time.perf_counter()
        timed = run(self.running.port, requests)
        seconds = time.perf_counter() - begin
        others = machine_busy_s() - busy - (own_cpu_s() - own) - (self.running.cpu_s() - engine)
        for (prompt, n_new), t in zip(requests, timed):
            if abs(t.n_prompt - len(prompt)) > len(prompt) // 100 or t.n_new != n_new:
                raise SystemExit(f"{cell}: {t.n_prompt} + {t.n_new} tokens, asked for {len(prompt)} + {n_new}")
            if max_cached is not None and t.cached is not None and t.cached > max_cached:
                raise SystemExit(f"{cell}: {t.cached} cached tokens in a cold run")
        result = value(timed)
        self.values.setdefault(cell, []).append(result)
        self.raw.append({"cell": cell, "value": result, "seconds": round(seconds, 3),
                         "other_load": round(max(0.0, others) / seconds / os.cpu_count(), 3),
                         "requests": [t.as_json() for t in timed]})
        self.log(f"    {cell}: {result:.4g}")
        return timed

    def all_cells(self, quick: bool) -> None:
        p = self.prompts
        run(self.running.port, [(p.fresh(64), 8)])  # warm-up
        for _ in range(1 if quick else 3):
            self.measure("prefill_512", [(p.fresh(512), 1)], lambda t: 512 / t[0].ttft, max_cached=1)
        for _ in range(1 if quick else 2):
            long = p.fresh(4096)
            self.measure("prefill_4096", [(long, 1)], lambda t: 4096 / t[0].ttft, max_cached=1)
            self.measure("follow_up_4096_ms", [(long + p.text(64), 1)], lambda t: 1000 * t[0].ttft)
        for _ in range(1 if quick else 2):
            self.measure("decode_1", [(p.fresh(64), 128 if quick else 276)], lambda t: t[0].decode_rate(), max_cached=1)
        self.measure("decode_8", [(p.fresh(64), 96 if quick else 160) for _ in range(8)], together_rate, max_cached=1)
        memory = self.running.memory()
        for cell, key in (("peak_mib", "peak"), ("resident_mib", "resident")):
            self.values[cell] = [memory[key] / 2**20]


def compare(model: Path, engines: list, settings: Settings, rounds: int, quick: bool, log) -> dict:
    result = {"model": model.name, "file_bytes": model.stat().st_size, "machine": machine(), "commit": commit(),
              "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
              "settings": {"threads": settings.threads, "context": settings.context, "streams": settings.streams,
                           "rounds": rounds, "quick": quick},
              "engines": {e.name: {"version": e.version(), "rounds": []} for e in engines}}
    ids = None
    for i in range(rounds):
        for engine in engines:  # A-B-A-B
            log(f"{model.name}, round {i + 1} of {rounds}: {engine.name}")
            with Running(engine, model, settings) as running:
                after_load = running.memory()
                ids = ids or tokenize(running.port)
                turn = Round(running, Prompts(ids, seed=i), log)
                turn.all_cells(quick)
                record = result["engines"][engine.name]
                record["command"] = [Path(running.command[0]).name, *running.command[1:]]
                record["rounds"].append({"start_s": round(running.start_s, 3), "memory_after_load": after_load,
                                         "memory_at_end": running.memory(), "load_average": os.getloadavg(),
                                         "values": turn.values, "raw": turn.raw})
    # Both models must have said something alike: the first words of the first decode.
    texts = {n: next(r for r in e["rounds"][0]["raw"] if r["cell"] == "decode_1")["requests"][0]["text"]
             for n, e in result["engines"].items()}
    result["same_first_40_characters"] = len({t[:40] for t in texts.values()}) == 1
    return result


def hide_paths(result: dict) -> dict:
    """Flags with file names only: a result says nothing of the machine's folders."""
    for engine in result["engines"].values():
        engine["command"] = [Path(a).name if a.startswith("/") else a for a in engine["command"]]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--tempo9", type=Path, default=os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))
    parser.add_argument("--llama-server", type=Path, default=os.environ.get("LLAMA_SERVER"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, shorter replies: to try the script")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results")
    parser.add_argument("--only", choices=("tempo9", "llama.cpp"), help="one engine: to try the script")
    parser.add_argument("--tempo9-flags", default="", help="added to ours, in one argument")
    parser.add_argument("--llama-flags", default="", help="added to llama.cpp's, in one argument")
    parser.add_argument("--tables", action="store_true", help="only rewrite docs/benchmarks.md from the results there")
    args = parser.parse_args()

    if not args.tables:
        engines = [Tempo9("tempo9", args.tempo9, args.tempo9_flags.split()),
                   LlamaCpp("llama.cpp", args.llama_server or "", args.llama_flags.split())]
        engines = [e for e in engines if args.only in (None, e.name)]
        for engine in engines:
            if not Path(engine.binary).is_file():
                parser.error(f"{engine.name}: no binary at {engine.binary!s}")
        args.out.mkdir(parents=True, exist_ok=True)
        with open(Path(tempfile.gettempdir()) / "tempo9-bench.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one run at a time
            folder = Path(tempfile.mkdtemp(prefix="tempo9-bench-"))
            settings = Settings(args.threads, args.context, 8, folder)
            for model in args.models:
                result = compare(model, engines, settings, args.rounds, args.quick, lambda s: print(s, flush=True))
                path = args.out / f"{model.stem}.json"
                path.write_text(json.dumps(hide_paths(result)) + "\n")
                print(f"wrote {path}; logs: {folder}")
    if args.out == ROOT / "bench/results":
        write_tables(sorted(args.out.glob("*.json")), ROOT / "docs/benchmarks.md")
    else:
        print("results elsewhere: docs/benchmarks.md is left as it is; cells:", ", ".join(CELLS))


if __name__ == "__main__":
    main()
