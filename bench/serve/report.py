"""Results to the table in docs/benchmarks.md: medians, ranges, what was lost too."""

import json
import statistics
from pathlib import Path

# cell: (words, unit, higher is better)
CELLS = {
    "prefill_512": ("cold prefill, 512 tokens", "tok/s", True),
    "prefill_4096": ("cold prefill, 4096 tokens", "tok/s", True),
    "decode_1": ("decode, one stream", "tok/s", True),
    "decode_8": ("decode, eight streams together", "tok/s", True),
    "follow_up_4096_ms": ("first token, 64 new behind 4096 cached", "ms", False),
    "peak_mib": ("most memory resident", "MiB", False),
    "resident_mib": ("memory resident at the end", "MiB", False),
}
BEGIN, END = "<!-- results: written by bench/serve/compare.py -->", "<!-- end of results -->"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def samples(engine: dict, cell: str) -> list[float]:
    return [v for r in engine["rounds"] for v in r["values"].get(cell, [])]


def cell_text(values: list[float]) -> str:
    return f"{number(statistics.median(values))} ({number(min(values))}-{number(max(values))})"


def other_load(result: dict) -> float:
    return max(raw["other_load"] for e in result["engines"].values() for r in e["rounds"] for raw in r["raw"])


def table(result: dict) -> str:
    names = list(result["engines"])
    m, s = result["machine"], result["settings"]
    lines = [f"### {result['model']}", "",
             f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB; {s['threads']} threads; {result['date'][:10]}; "
             f"Tempo9 at {result['commit']}; {s['rounds']} rounds; other load at most {other_load(result):.0%}.", "",
             "| | unit | " + " | ".join(names) + (" | ratio |" if len(names) == 2 else " |"),
             "| --- | --- |" + " --- |" * (len(names) + (len(names) == 2))]
    for cell, (words, unit, higher) in CELLS.items():
        values = [samples(result["engines"][n], cell) for n in names]
        if not all(values):
            continue
        row = f"| {words} | {unit} | " + " | ".join(cell_text(v) for v in values) + " |"
        if len(names) == 2:
            ours, theirs = (statistics.median(v) for v in values)
            row += f" {ours / theirs if higher else theirs / ours:.2f}x |"
        lines.append(row)
    return "\n".join(lines) + "\n"


def write_between(page: Path, begin: str, end: str, tables: str) -> None:
    head, rest = page.read_text().split(begin)
    _, tail = rest.split(end)
    page.write_text(f"{head}{begin}\n\n{tables}\n{end}{tail}")
    print(f"wrote {page}")


def write_tables(paths: list[Path], page: Path) -> None:
    write_between(page, BEGIN, END, "\n".join(table(json.loads(p.read_text())) for p in paths))
