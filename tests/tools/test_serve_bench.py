"""bench/serve reads streams, judges claims and draws bars as it says."""

import pathlib
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench/serve"), str(ROOT / "bench/vs")]

import load  # noqa: E402
import report  # noqa: E402
import turn  # noqa: E402
from load import Timed  # noqa: E402
from picture import LEFT, RIGHT, WIDTH, draw  # noqa: E402
from spec import Cell, Claim, Values, Workload, always_below, at_most, share_of_the_peer, times_the_peer  # noqa: E402

SPAN = WIDTH - LEFT - RIGHT


def result_of(**engines) -> dict:
    """engine=[{cell: values} of each round]"""
    return {"model": "m.gguf", "date": "2026-01-02T03:04:05", "commit": "abc", "settings": {"threads": 2, "rounds": 2},
            "machine": {"cpu": "C", "cores": 2, "memory_gib": 8.0},
            "engines": {n.replace("_", "."): {"rounds": [{"values": v, "raw": []} for v in rounds]} for n, rounds in engines.items()}}


@pytest.mark.parametrize("values, share, expected", [  # numpy.percentile's numbers
    ([1, 2, 3, 4], 50, 2.5), ([4, 1, 3, 2], 95, 3.85), ([7], 95, 7), ([1, 2], 0, 1), ([1, 2], 100, 2)])
def test_percentile(values, share, expected):
    assert load.percentile(values, share) == pytest.approx(expected)


def test_a_stream_is_read():
    lines = [(10.5, 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}'), (10.6, ": ping"),
             (11.0, 'data: {"choices":[{"delta":{"content":"a"}}]}'),
             (11.5, 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}}]}'),
             (12.0, 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}'),
             (12.1, 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}'),
             (12.1, "data: [DONE]")]
    timed = Timed(sent_at=10, status=200, end=2.2)
    load._read(timed, lines)
    assert timed.arrivals == [1.0, 1.5, 2.0] and timed.text == "a" and timed.finish == "tool_calls"
    assert (timed.n_prompt, timed.n_new, timed.cached) == (9, 5, 8)
    assert timed.calls == [{"id": "x", "name": "f", "arguments": "{}"}]


def test_rates():
    one = Timed(sent_at=0, n_prompt=10, n_new=3, arrivals=[1, 2, 3], end=3)
    two = Timed(sent_at=0, n_prompt=10, n_new=3, arrivals=[2, 3, 4], end=5)
    assert load.together_rate([one, two]) == 2  # at 3 from both, between 2 and 3
    assert load.effective_rate([one, two]) == 26 / 5
    assert one.decode_rate() == 1
    with pytest.raises(ValueError):
        load.together_rate([one, Timed(sent_at=9, n_new=1, arrivals=[1], end=1)])


@pytest.mark.parametrize("change, words", [
    ({"status": 503, "text": "no memory"}, "answered 503: no memory"), ({"finish": None}, "without a finish_reason"),
    ({"n_prompt": 98}, "98 + 4"), ({"n_new": 3}, "100 + 3"), ({"cached": 2}, "2 cached tokens"), ({}, "")])
def test_what_does_not_count(change, words):
    timed = Timed(**{"sent_at": 0, "status": 200, "finish": "length", "n_prompt": 100, "n_new": 4, "cached": 1,
                     "arrivals": [1.0], "asked": (100, 4), **change})
    if not words:
        return turn.check("cell", [timed], cold=True)
    with pytest.raises(turn.Invalid, match=words.replace("+", r"\+")):
        turn.check("cell", [timed], cold=True)


def test_claims():
    values = Values(result_of(tempo9=[{"w": [1, 3]}, {"w": [2]}], llama_cpp=[{"w": [4]}, {"w": [8]}]))
    assert values.ours("w") == [1, 3, 2] and values.theirs("w") == [4, 8]
    assert always_below("", "w").judge(values) and at_most("", "w", 3).judge(values)
    assert not at_most("", "w", 2.9).judge(values)
    assert share_of_the_peer("", "w", 1 / 3).judge(values) and not share_of_the_peer("", "w", 0.3).judge(values)
    assert times_the_peer("", "w", 1 / 3).judge(values) and not times_the_peer("", "w", 0.4).judge(values)
    assert at_most("", "other", 1).judge(values) is None
    assert always_below("", "w").judge(Values(result_of(tempo9=[{"w": [1]}]))) is None


WORKLOAD = Workload("w", "Wait", "a wait", {"w": Cell("the wait", "ms"), "r": Cell("rate", "tok/s", True),
                                            "n": Cell("a fact", "", None)}, None,
                    (Claim("it is short", ("w",), lambda v: max(v.ours("w")) < 1),))


def test_table():
    page = report.table(WORKLOAD, result_of(tempo9=[{"w": [1, 3], "r": [200], "n": [7]}],
                                            llama_cpp=[{"w": [4]}, {"w": [8], "r": [100]}]))
    assert "| the wait | ms | 2 (1-3) | 6 (4-8) | 3.00x |" in page
    assert "| rate | tok/s | 200 | 100 | 2.00x |" in page and "| a fact |  | 7 | - | - |" in page
    assert "- **does not hold**: it is short" in page


def test_picture_has_bars_from_smallest_to_greatest():
    svg = draw(WORKLOAD, result_of(tempo9=[{"w": [1, 3]}], llama_cpp=[{"w": [4, 8]}]), report.cell_text)
    shapes = [e.attrib for e in xml.etree.ElementTree.fromstring(svg) if e.tag.endswith("rect")]
    bars = [(float(s["x"]), float(s["width"])) for s in shapes if "fill" in s]
    assert bars == [pytest.approx((LEFT + SPAN / 8, SPAN / 4), abs=0.1), pytest.approx((LEFT + SPAN / 2, SPAN / 2), abs=0.1)]
    marks = [float(s["x"]) + 1 for s in shapes if s.get("class") == "mark"]
    assert marks == pytest.approx([LEFT + SPAN / 4, LEFT + SPAN * 3 / 4], abs=0.1)
    assert draw(WORKLOAD, result_of(tempo9=[{"w": [1]}]), report.cell_text) is None


def test_the_page_is_that_of_the_results(tmp_path):
    from workloads import WORKLOADS

    page = ROOT / "docs/benchmarks.md"
    copy = tmp_path / "benchmarks.md"
    copy.write_text(page.read_text())
    report.write_page(ROOT / "bench/results/serve", copy, WORKLOADS)
    assert copy.read_text() == page.read_text(), "run bench/serve/run.py --pages"
    drawn = {f.name: f.read_text() for f in (tmp_path / "benchmarks").glob("*.svg")}
    assert drawn == {f.name: f.read_text() for f in (ROOT / "docs/benchmarks").glob("*.svg")}
