"""Results to docs/benchmarks.md: medians and ranges, what was claimed, what was lost; and a picture a table."""

import json
import statistics
from pathlib import Path

from picture import draw
from spec import OURS, Cell, Values, Workload

BEGIN, END = "<!-- results: written by bench/serve/run.py -->", "<!-- end of results -->"


def number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 2 or value == 0 else f"{value:.2f}"


def cell_text(values: list[float]) -> str:
    if not values:
        return "-"
    counts = all(isinstance(v, int) for v in values)
    middle, low, high = (f"{f(values):,.6g}" if counts else number(f(values)) for f in (statistics.median, min, max))
    return middle if len(set(values)) == 1 else f"{middle} ({low}{' to ' if min(values) < 0 else '-'}{high})"


def ratio(cell: Cell, values: Values, names: list[str], key: str) -> str:
    """Our median over that of the best peer, such that more than 1 is better for us."""
    peers = [statistics.median(v) for name in names if name != OURS and (v := values.of(name, key))]
    if cell.higher is None or not peers or not values.ours(key):
        return "-"
    ours = statistics.median(values.ours(key))
    best = max(peers) if cell.higher else min(peers)
    over, under = (ours, best) if cell.higher else (best, ours)
    return f"{over / under:.2f}x" if under else "-"


def loads(result: dict) -> list[float]:
    return [raw["other_load"] for e in result["engines"].values() for r in e["rounds"] for raw in r["raw"]
            if "other_load" in raw]


def loops(result: dict, engine: str) -> int:
    return sum(request.get("loops", False) for r in result["engines"][engine]["rounds"] for raw in r["raw"]
               for request in raw.get("requests", []))


def notes(workload: Workload, result: dict, values: Values) -> list[str]:
    lines = []
    for claim in workload.claims:
        judged = claim.judge(values)
        lines.append(f"- {'not judged here' if judged is None else 'holds' if judged else '**does not hold**'}: {claim.words}")
    for name, engine in result["engines"].items():
        for words in sorted({r["failed"] for r in engine["rounds"] if "failed" in r}):
            lines.append(f"- {name} did not play it to the end: `{words}`")
        if n := loops(result, name):
            lines.append(f"- {name}: {n} replies ran into a loop")
    return lines


def table(workload: Workload, result: dict) -> str:
    values = Values(result)
    names = [n for n in result["engines"] if any(values.of(n, c) for c in workload.cells)]
    m, s, load = result["machine"], result["settings"], loads(result) or [0]
    beside = len(names) > 1
    lines = [f"{result['model']}: {m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB; {s['threads']} threads; "
             f"{result['date'][:10]}; Tempo9 at {result['commit']}; rounds: {s['rounds']}; other load "
             f"{statistics.median(load):.0%} in the median, at most {max(load):.0%}.", "",
             "| | unit | " + " | ".join(names) + (" | ratio |" if beside else " |"),
             "| --- | --- |" + " --- |" * (len(names) + beside)]
    for key, cell in workload.cells.items():
        found = [values.of(n, key) for n in names]
        if any(found):
            row = f"| {cell.words} | {cell.unit} | " + " | ".join(map(cell_text, found)) + " |"
            lines.append(row + (f" {ratio(cell, values, names, key)} |" if beside else ""))
    return "\n".join([*lines, "", *notes(workload, result, values)]).rstrip() + "\n"


def section(workload: Workload, results: list[dict], pictures: Path) -> str:
    words = workload.how[0].upper() + workload.how[1:]
    parts = [f"### {workload.title}\n\n{words}. `bench/serve/run.py {workload.name}`\n"]
    for result in results:
        parts.append(table(workload, result))
        if picture := draw(workload, result, cell_text):
            pictures.mkdir(exist_ok=True)
            file = pictures / f"{workload.name}-{Path(result['model']).stem}.svg"
            file.write_text(picture)
            parts.append(f"![{workload.title}: ranges and medians]({pictures.name}/{file.name})\n")
    return "\n".join(parts)


def write_between(page: Path, begin: str, end: str, tables: str) -> None:
    head, rest = page.read_text().split(begin)
    _, tail = rest.split(end)
    page.write_text(f"{head}{begin}\n\n{tables}\n{end}{tail}")
    print(f"wrote {page}")


def write_page(results: Path, page: Path, workloads: dict[str, Workload]) -> None:
    """What was not measured is named as such: a missing number is no secret."""
    sections, missing = [], []
    for workload in workloads.values():
        found = [json.loads(p.read_text()) for p in sorted((results / workload.name).glob("*.json"))]
        if found:
            sections.append(section(workload, found, page.with_suffix("")))
        else:
            missing.append(f"`{workload.name}` ({workload.title})")
    if missing:
        sections.append("Not measured yet: " + ", ".join(missing) + ".\n")
    write_between(page, BEGIN, END, "\n".join(sections))
