#!/usr/bin/env python3
"""Measures this machine's roofs and each model's share of them, and writes the tables of docs/performance.md.

    bench/roofs.py [--repeat N] [--threads N] F.gguf ...

Everything comes from `tempo9 bench --json`; what was printed is kept in bench/results/roofs.json, and
`bench/roofs.py --from bench/results/roofs.json` writes the page from that alone. Let nothing else run meanwhile.
"""

import argparse
import datetime
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/performance.md"
RAW = ROOT / "bench/results/roofs.json"
BEGIN, END = "<!-- numbers: written by bench/roofs.py -->", "<!-- end of numbers -->"

# What is measured of each model: flags of `tempo9 bench`.
CASES = [["--prefill", "512,4096", "--decode", "128", "--rows", "1,8"],
         ["--decode", "64", "--rows", "1", "--depth", "4096"]]  # fmt: skip
SHOWN_PARTS = 0.005  # of a case's time, else among the others
ROOF_WORDS = {"int8_dot": "int8 dot products", "f32_fma": "f32 multiply-adds", "read": "read bandwidth"}


def bench(binary: Path, *args) -> dict:
    done = subprocess.run([binary, "bench", *map(str, args), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{binary} bench {' '.join(map(str, args))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(args) -> dict:
    common = ["--repeat", args.repeat, *(["--threads", args.threads] if args.threads else [])]
    cpu = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)[1]
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout
    models = {}
    for path in args.models:
        print(f"measuring {path}", flush=True)
        models[path.name] = [r for case in CASES for r in bench(args.binary, "--gguf", path, *case, "--parts", *common)["results"]]
    return {"cpu": cpu, "commit": commit.strip(), "date": datetime.date.today().isoformat(), "repeats": args.repeat,
            "roofs": bench(args.binary, "--roofs", *common)["roofs"], "models": models}  # fmt: skip


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def with_range(value: float, range_: list[float]) -> str:
    return f"{number(value)} ({number(range_[0])}-{number(range_[1])})"


def tables(raw: dict) -> str:
    threads = max(roof["threads"] for roof in raw["roofs"])
    lines = [f"{raw['cpu']}, {threads} threads, kernel table `{raw['roofs'][0]['isa']}`; {raw['date']}, Tempo9 at "
             f"{raw['commit']}; medians and ranges of {raw['repeats']}.", "",
             "| roof | threads | | unit |", "| --- | --- | --- | --- |"]  # fmt: skip
    for roof in raw["roofs"]:
        lines.append(f"| {ROOF_WORDS[roof['kind']]} | {roof['threads']} | {with_range(roof['rate'], roof['range'])} | {roof['unit']} |")
    lines += ["", "| model | case | tok/s | share of roof |", "| --- | --- | --- | --- |"]
    for model, results in raw["models"].items():
        for r in results:
            case = case_words(r)
            roof = "int8" if r["kind"] == "prefill" else "read"
            lines.append(f"| {model} | {case} | {with_range(r['tok_s'], r['range'])} | {r['share_of_roof']:.0%} of {roof} |")
    lines += ["", "Where the time goes, in microseconds a token (and the share of the case's time):"]
    for model, results in raw["models"].items():
        lines += ["", *parts_table(model, results)]
    return "\n".join(lines)


def case_words(r: dict) -> str:
    case = f"prefill {r['n']}" if r["kind"] == "prefill" else f"decode, {r['rows']} row{'s' * (r['rows'] > 1)}"
    return case + f", {r['depth']} tokens before" * (r["depth"] > 0)


def parts_table(model: str, results: list[dict]) -> list[str]:
    """A row for each part, a column for each case."""
    shares = [{p["part"]: p for p in r["parts"]} for r in results]
    largest = {name: max(s[name]["share"] for s in shares if name in s) for s in shares for name in s}
    shown = sorted((name for name in largest if largest[name] >= SHOWN_PARTS), key=largest.get, reverse=True)
    lines = [f"| {model} | " + " | ".join(map(case_words, results)) + " |", "| --- |" + " --- |" * len(results)]
    for name in shown:
        cells = [f"{number(s[name]['us_per_token'])} ({s[name]['share']:.0%})" if name in s else "-" for s in shares]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def write_page(raw: dict) -> None:
    head, rest = PAGE.read_text().split(BEGIN)
    _, tail = rest.split(END)
    PAGE.write_text(f"{head}{BEGIN}\n\n{tables(raw)}\n\n{END}{tail}")
    print(f"wrote {PAGE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="F.gguf")
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/tempo9")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--from", dest="raw", type=Path, help="write the page from this file instead of measuring")
    args = parser.parse_args()
    if args.raw is None:
        RAW.parent.mkdir(exist_ok=True)
        RAW.write_text(json.dumps(measure(args), indent=1) + "\n")
    write_page(json.loads((args.raw or RAW).read_text()))


if __name__ == "__main__":
    main()
