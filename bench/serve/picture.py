"""A result as an SVG picture: a bar from the smallest to the greatest value, a mark at the median, a scale a cell from 0."""

import statistics
from collections.abc import Callable
from xml.sax.saxutils import escape

from spec import Workload, Values

WIDTH, LEFT, RIGHT = 760, 110, 190  # of the picture, the engines' names, the numbers
ROW, HEAD, GAP = 20, 24, 12  # heights
COLOURS = {"tempo9": "#0f9d76", "llama.cpp": "#c2702c", "ik_llama.cpp": "#7a6fc2"}
STYLE = """text { font: 12px system-ui, sans-serif; fill: #333 } .head { font-weight: 600 } .track { fill: #e8e8e8 }
.mark { fill: #111 } @media (prefers-color-scheme: dark) { text { fill: #ddd } .track { fill: #3a3a3a } .mark { fill: #fff } }"""


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, attributes: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {attributes}/>'


def row(y: float, name: str, values: list[float], greatest: float, words: str) -> list[str]:
    span = WIDTH - LEFT - RIGHT

    def place(value: float) -> float:
        return LEFT + span * value / greatest

    low, high, middle = place(min(values)), place(max(values)), place(statistics.median(values))
    width = max(high - low, 4)  # one value, or equal ones, are seen too
    return [text(LEFT - 8, y + 14, name, anchor="end"), box(LEFT, y + 8, span, 4, 'class="track" rx="2"'),
            box(min(low, LEFT + span - width), y + 4, width, 12, f'fill="{COLOURS.get(name, "#888")}" rx="2"'),
            box(middle - 1, y + 1, 2, 18, 'class="mark"'), text(WIDTH - RIGHT + 10, y + 14, words)]


def draw(workload: Workload, result: dict, words: Callable[[list[float]], str]) -> str | None:
    """None when there are no two engines to compare."""
    values, y, shapes = Values(result), 4, []
    for key, cell in workload.cells.items():
        found = {name: v for name in result["engines"] if (v := values.of(name, key))}
        greatest = max((max(v) for v in found.values()), default=0)
        if len(found) < 2 or greatest <= 0 or cell.higher is None or min(min(v) for v in found.values()) < 0:
            continue
        better = "more is better" if cell.higher else "less is better"
        shapes.append(text(4, y + 16, f"{cell.words}, {cell.unit}: {better}" if cell.unit else f"{cell.words}: {better}", "head"))
        y += HEAD
        for name, v in found.items():
            shapes += row(y, name, v, greatest, words(v))
            y += ROW
        y += GAP
    if not shapes:
        return None
    title = escape(f"{workload.title}, {result['model']}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">'
            f"<title>{title}</title><style>{STYLE}</style>\n" + "\n".join(shapes) + "\n</svg>\n")
