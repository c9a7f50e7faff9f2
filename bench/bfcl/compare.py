#!/usr/bin/env python3
"""Tool calls scored beside a peer: the same cases through both servers, and the answer key through ours.

    compare.py --gguf F [--gguf G] [--llama-server PATH] [--seeds 9,10] [--n 40] [--answer-key] [--write]

Run it with the Python of README.md's environment. Each run's folder under --out holds requests and replies; a run that is
there already is not made again. --write renews bench/results/bfcl-*.json and the tables of docs/tool-calling.md.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(ROOT / "bench/serve"), str(ROOT / "bench/vs"), str(HERE)]

import run_bfcl  # noqa: E402
from engines import LlamaCpp, Running, Settings, Tempo9  # noqa: E402
from report import write_between  # noqa: E402

BEGIN, END = "<!-- results: written by bench/bfcl/compare.py -->", "<!-- end of results -->"


class Scripted(Tempo9):
    """Tempo9 on a script in place of a model; tokens are bytes."""

    def command(self, model, port, s):
        return [str(self.binary), "serve", "--script", str(model), "--port", str(port), "--max-length", "2000000"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gguf", type=Path, action="append", default=[])
    parser.add_argument("--tempo9", type=Path, default=ROOT / "build/release/tempo9")
    parser.add_argument("--llama-server", type=Path)
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--seeds", default="9")
    parser.add_argument("--categories", default=",".join(run_bfcl.DEFAULT_CATEGORIES))
    parser.add_argument("--answer-key", action="store_true", help="the scripted answer key, over every category that has one")
    parser.add_argument("--threads", type=int, default=2, help="of each server")
    parser.add_argument("--streams", type=int, default=4, help="requests at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bfcl")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def score(url: str, out: Path, arguments, seed: str, categories: str, threads: int) -> list[dict]:
    if not (out / "summary.jsonl").exists():
        command = [sys.executable, HERE / "run_bfcl.py", "--base-url", url, "--out", out, "--n", arguments.n, "--seed", seed,
                   "--categories", categories, "--threads", threads, "--timeout", 1200]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (out / "summary.jsonl").read_text().splitlines()]


def measure(engine, model: Path, name: str, arguments, seed: str, categories: str, streams: int) -> list[dict]:
    out = arguments.out / name
    if (out / "summary.jsonl").exists():
        return score("", out, arguments, seed, categories, streams)
    out.mkdir(parents=True, exist_ok=True)
    settings = Settings(threads=arguments.threads, context=32768, streams=streams)
    with Running(engine, model.absolute(), settings, (out / "kv").absolute(), out.absolute()) as server:
        return score(f"http://127.0.0.1:{server.port}/v1", out, arguments, seed, categories, streams)


def commit() -> str:
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()


def answer_key(arguments, seed: str) -> list[dict]:
    # In Java's key the values are parsed; a reply has to have them as Java writes them.
    categories = ",".join(c for c in run_bfcl.AST_CATEGORIES + run_bfcl.DETECT_CATEGORIES if c != "simple_java")
    arguments.out.mkdir(parents=True, exist_ok=True)
    script = arguments.out / f"answers-{seed}.jsonl"
    with script.open("w") as file:
        subprocess.run([sys.executable, HERE / "answers.py", "--n", str(arguments.n), "--seed", seed, "--categories", categories],
                       check=True, stdout=file)
    # In the order of the requests: one at a time.
    return measure(Scripted("tempo9", arguments.tempo9), script, f"answers-{seed}", arguments, seed, categories, 1)


def table(result: dict) -> str:
    names = list(result["engines"])
    peers = [name for name in names if name != "tempo9"]
    head = ["category", "cases", *names, *(f"{peer}, read tolerantly" for peer in peers)]
    lines = [f"### {result['title']}", "", f"{result['n']} cases a category, seed {result['seed']}; {result['bfcl_eval']}; "
             f"Tempo9 at {result['commit']}.", "", "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    rows = {name: {row["category"]: row for row in lines_} for name, lines_ in result["engines"].items()}
    for category, row in rows[names[0]].items():
        if category == "ALL":
            continue
        cells = [category, str(row["n"]), *(f"{rows[n][category]['accuracy']:.3f}" for n in names),
                 *(f"{rows[p][category]['tolerant_accuracy']:.3f}" for p in peers)]
        lines.append("| " + " | ".join(cells) + " |")
    errors = {name: rows[name]["ALL"]["http_errors"] for name in names}
    lines += ["", "Failed requests: " + ", ".join(f"{name} {n}" for name, n in errors.items()) + "."]
    return "\n".join(lines) + "\n"


def save(title: str, file: str, arguments, seed: str, engines: dict[str, list[dict]]) -> dict:
    last = next(iter(engines.values()))[-1]
    result = {"title": title, "seed": seed, "n": arguments.n, "bfcl_eval": f"bfcl-eval {last['bfcl_eval']}", "commit": commit(),
              "engines": engines}
    if arguments.write:
        (ROOT / f"bench/results/bfcl-{file}-{seed}.json").write_text(json.dumps(result, indent=1) + "\n")
    return result


def main() -> int:
    arguments = parse()
    results = []
    for seed in arguments.seeds.split(","):
        if arguments.answer_key:
            results.append(save("the answer key, from a script", "answers", arguments, seed, {"tempo9": answer_key(arguments, seed)}))
        for model in arguments.gguf:
            engines = {"tempo9": Tempo9("tempo9", arguments.tempo9)}
            if arguments.llama_server:
                engines["llama.cpp"] = LlamaCpp("llama.cpp", arguments.llama_server, ["--jinja"])
            scored = {name: measure(engine, model, f"{name}-{model.stem}-{seed}", arguments, seed, arguments.categories,
                                    arguments.streams) for name, engine in engines.items()}
            results.append(save(model.name, model.stem, arguments, seed, scored))
    tables = "\n".join(table(result) for result in results)
    print(tables)
    if arguments.write:
        every = [json.loads(path.read_text()) for path in sorted((ROOT / "bench/results").glob("bfcl-*.json"))]
        write_between(ROOT / "docs/tool-calling.md", BEGIN, END, "\n".join(table(result) for result in every))
    return 0


if __name__ == "__main__":
    sys.exit(main())
