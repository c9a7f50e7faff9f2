"""What a workload is: a turn to play, cells with a value each, and what is claimed of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

OURS, PEER = "tempo9", "llama.cpp"


@dataclass(frozen=True)
class Cell:
    words: str
    unit: str
    higher: bool | None = False  # whether more is better; None: neither, and there is no ratio


class Values:
    """Those of a result: one engine's values of a cell over all rounds; empty where it did not run."""

    def __init__(self, result: dict):
        self._engines = result["engines"]

    def of(self, engine: str, cell: str) -> list[float]:
        rounds = self._engines.get(engine, {"rounds": []})["rounds"]
        return [v for r in rounds for v in r["values"].get(cell, [])]

    def ours(self, cell: str) -> list[float]:
        return self.of(OURS, cell)

    def theirs(self, cell: str) -> list[float]:
        return self.of(PEER, cell)


@dataclass(frozen=True)
class Claim:
    words: str
    cells: tuple[str, ...]
    holds: Callable[[Values], bool]
    beside_peer: bool = True  # needs llama.cpp's values too

    def judge(self, values: Values) -> bool | None:
        """None: what it speaks of was not measured."""
        for cell in self.cells:
            if not values.ours(cell) or (self.beside_peer and not values.theirs(cell)):
                return None
        return bool(self.holds(values))


def at_most(words: str, cell: str, limit: float) -> Claim:
    """In every round."""
    return Claim(words, (cell,), lambda v: max(v.ours(cell)) <= limit, beside_peer=False)


def at_least(words: str, cell: str, limit: float) -> Claim:
    return Claim(words, (cell,), lambda v: min(v.ours(cell)) >= limit, beside_peer=False)


def times_the_peer(words: str, cell: str, factor: float) -> Claim:
    """Our median at least factor times llama.cpp's; more is better."""
    return Claim(words, (cell,), lambda v: median(v.ours(cell)) >= factor * median(v.theirs(cell)))


def share_of_the_peer(words: str, cell: str, share: float) -> Claim:
    """Our median at most this share of llama.cpp's; less is better."""
    return Claim(words, (cell,), lambda v: median(v.ours(cell)) <= share * median(v.theirs(cell)))


def always_below(words: str, cell: str) -> Claim:
    """Our slowest round before llama.cpp's fastest."""
    return Claim(words, (cell,), lambda v: max(v.ours(cell)) < min(v.theirs(cell)))


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    how: str  # what happens, for the page
    cells: dict[str, Cell]
    turn: Callable  # of a Turn (turn.py)
    claims: tuple[Claim, ...] = ()
    engines: tuple[str, ...] = (OURS, PEER, "ik_llama.cpp")
    notes: tuple[str, ...] = field(default=())  # what is to be known beside the numbers
