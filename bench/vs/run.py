#!/usr/bin/env python3
"""Tempo9 beside the fastest other engines, by turns on the same file and machine. Method: docs/benchmarks.md.

  bench/vs/build_peers.py && bench/vs/run.py --gguf MODEL.gguf [--cells prefill:512,decode:1@16384,busy] [--rounds 3]

Writes all that was measured to bench/results/vs/MODEL.json and the tables to docs/benchmarks.md.
"""

import argparse
import itertools
import json
import os
import resource
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))

from build_peers import OPENVINO_PYTHON, PEERS, ROOT, program_folder  # noqa: E402
from machine import busy_processes, busy_s, commit, machine, the_only_run  # noqa: E402
from peers import CannotRun, Cell, Engine, IkLlamaCpp, LlamaCpp, OpenVino, Tempo9  # noqa: E402
from report import number, write_between  # noqa: E402

CELLS = "prefill:512,prefill:4096,prefill:16384,decode:1,decode:1@16384,decode:8@512,busy"
LARGE = 1.5e9  # bytes of a file whose cells take long enough
BEGIN, END = "<!-- peers: written by bench/vs/run.py -->", "<!-- end of peers -->"


def cpu_s() -> float:
    """Of this process and of those that it started and that ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(engine: Engine, cell: Cell, setting: str, model: Path, threads: int) -> dict:
    """{"value": tok/s, or the share kept when busy} or {"failed": words}, and the load not ours as a share of all cores."""
    begin, busy, own = time.perf_counter(), busy_s(), cpu_s()
    try:
        tok_s = engine.run(cell, setting, model, threads)
        turn = {"value": median(tok_s), "tok_s": tok_s}
        if cell.name == "busy":
            with busy_processes():
                turn["busy_tok_s"] = engine.run(cell, setting, model, threads)
            turn["value"] = median(turn["busy_tok_s"]) / median(tok_s)
    except CannotRun as words:
        turn = {"failed": str(words)}
    seconds, own = time.perf_counter() - begin, cpu_s() - own
    others = max(0.0, busy_s() - busy - own) / seconds / os.cpu_count()
    return turn | {"seconds": round(seconds, 2), "other_load": round(others, 3), "own_cores": round(own / seconds, 2)}


def compare(engines: list[Engine], cells: list[Cell], model: Path, threads: int, rounds: int) -> dict:
    result = {"model": model.name, "file_bytes": model.stat().st_size, "machine": machine(), "commit": commit(),
              "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "threads": threads, "rounds": rounds,
              "cells": {c.name: {e.name: {s: [] for s in e.settings(c)} for e in engines} for c in cells}}
    for i, cell, engine in itertools.product(range(rounds), cells, engines):  # A-B-C-A-B-C
        for setting, turns in result["cells"][cell.name][engine.name].items():
            turns.append(turn := measure(engine, cell, setting, model, threads))
            print(f"{i + 1}/{rounds} {cell.name} {engine.name} {setting}: {turn.get('value', turn.get('failed'))}; "
                  f"other load {turn['other_load']:.0%}, cores used {turn['own_cores']}", flush=True)
    return result


def best(settings: dict[str, list[dict]]) -> tuple[str, list[float]] | None:
    """The setting with the greatest median, and its value in each round; None when none runs the cell."""
    ran = {name: values for name, turns in settings.items() if (values := [t["value"] for t in turns if "value" in t])}
    return max(ran.items(), key=lambda x: median(x[1])) if ran else None


def ratio(found: dict[str, tuple[str, list[float]] | None]) -> str:
    """Our median over the best peer's."""
    peers = [median(f[1]) for name, f in found.items() if f and name != "tempo9"]
    return f"{median(found['tempo9'][1]) / max(peers):.2f}x" if found.get("tempo9") and peers else "-"


def figure(cell: str, found: tuple[str, list[float]] | None) -> str:
    if not found:
        return "-"
    middle, low, high = (f"{f(found[1]):.0%}" if cell == "busy" else number(f(found[1])) for f in (median, min, max))
    return f"{middle} ({low}-{high})" + (f", {found[0]}" if found[0] else "")


def table(result: dict) -> str:
    m, names = result["machine"], list(next(iter(result["cells"].values())))
    loads = [turn["other_load"] for engines in result["cells"].values() for settings in engines.values()
             for turns in settings.values() for turn in turns]
    lines = [f"### {result['model']}", "",
             f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB; {result['threads']} threads; {result['date'][:10]}; "
             f"Tempo9 at {result['commit']}; {result['rounds']} rounds; other load {median(loads):.0%} in the median, at "
             f"most {max(loads):.0%}.", "",
             "| tok/s | " + " | ".join(names) + " | ratio |", "| --- |" + " --- |" * (len(names) + 1)]
    failed: dict[str, list[str]] = {}  # an engine and its words: cells
    for cell, engines in result["cells"].items():
        found = {name: best(settings) for name, settings in engines.items()}
        lines.append(f"| {' | '.join((Cell.parse(cell).words, *(figure(cell, f) for f in found.values()), ratio(found)))} |")
        for name in (n for n in names if not found[n]):
            failed.setdefault(f"{name}: `{next(iter(engines[name].values()))[-1]['failed']}`", []).append(cell)
    lines += [""] + [f"- {words} ({', '.join(cells)})" for words, cells in failed.items()]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--cells", default=CELLS, help=f"default: {CELLS}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="in place of bench/results/vs/MODEL.json; docs/benchmarks.md stays")
    parser.add_argument("--markdown", type=Path, help="the table, in place of docs/benchmarks.md")
    parser.add_argument("--tempo9", type=Path, default=os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))
    parser.add_argument("--llama-dir", type=Path, default=program_folder("llama.cpp"), help="folder of llama-bench")
    parser.add_argument("--ik-dir", type=Path, default=program_folder("ik_llama.cpp"), help="the same of ik_llama.cpp")
    parser.add_argument("--openvino-python", type=Path, default=OPENVINO_PYTHON)
    parser.add_argument("--only", help="engines, with commas between: to try the script")
    args = parser.parse_args()
    engines = [Tempo9("tempo9", args.tempo9), LlamaCpp("llama.cpp", args.llama_dir),
               IkLlamaCpp("ik_llama.cpp", args.ik_dir), OpenVino("OpenVINO GenAI", args.openvino_python)]
    engines = [e for e in engines if not args.only or e.name in args.only.split(",")]
    for engine in engines:
        if not engine.program.exists():
            parser.error(f"{engine.name}: nothing at {engine.program}; bench/vs/build_peers.py puts peers into {PEERS}")
    try:
        cells = [Cell.parse(text, args.gguf.stat().st_size > LARGE) for text in args.cells.split(",")]
    except ValueError as error:
        parser.error(str(error))
    with the_only_run():
        result = compare(engines, cells, args.gguf, args.threads, args.rounds)
    path = args.json or ROOT / "bench/results/vs" / f"{args.gguf.stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result) + "\n")
    if args.markdown:
        args.markdown.write_text(table(result))
    elif not args.json:
        results = [json.loads(p.read_text()) for p in sorted(path.parent.glob("*.json"))]
        write_between(ROOT / "docs/benchmarks.md", BEGIN, END, "\n".join(map(table, results)))


if __name__ == "__main__":
    main()
