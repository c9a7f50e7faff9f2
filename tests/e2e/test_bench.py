"""`tempo9 bench` on a tiny model: what it prints, and that its numbers fit together. How fast is nobody's promise."""

import json
import re
import sys
from pathlib import Path

import pytest
from conftest import run_binary

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

from models_cases import CASES  # noqa: E402
from models_gguf import cached  # noqa: E402
from models_server import kernel_tables, machine_runs  # noqa: E402

pytestmark = pytest.mark.values

RESULT_KEYS = ["kind", "n", "rows", "depth", "tok_s", "range", "share_of_roof"]
ROOF_KEYS = ["kind", "threads", "isa", "unit", "rate", "range"]


@pytest.fixture(scope="module", params=["qwen2_gqa7_d64_tied", "quant_mix_q5_0_q8_0"])
def model(request, tmp_path_factory):
    return cached(CASES[request.param], tmp_path_factory.mktemp("models"))


def results_of(*args, **environment) -> list[dict]:
    done = run_binary("bench", *args, "--json", timeout=300, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["results"]


def check_result(result: dict) -> None:
    assert list(result) == RESULT_KEYS
    lowest, highest = result["range"]
    assert 0 < lowest <= result["tok_s"] <= highest
    assert result["share_of_roof"] > 0


def test_results_in_order(model):
    done = run_binary("bench", "--gguf", model, "--prefill", "40,600", "--decode", "6", "--rows", "1,3", "--depth", "50",
                      "--threads", 2, "--repeat", 3, "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and done.stdout.count("\n") == 1
    printed = json.loads(done.stdout)
    assert list(printed) == ["results"]
    for result in printed["results"]:
        check_result(result)
    assert [[r[key] for key in ("kind", "n", "rows", "depth")] for r in printed["results"]] == [
        ["prefill", 40, 1, 0], ["prefill", 600, 1, 0], ["decode", 6, 1, 50], ["decode", 6, 3, 50]]


def test_parts_are_the_whole_time(model):
    """Every kind of operation once, what they take sums to the case's time, and nothing of it is unnamed but a little."""
    for result in results_of("--gguf", model, "--prefill", "64", "--decode", "6", "--threads", 2, "--repeat", 3, "--parts"):
        parts = {p["part"]: p for p in result["parts"]}
        assert {"embedding", "norm", "attn_q+attn_k+attn_v", "rope and KV write", "attention", "attn_output",
                "ffn_gate+ffn_up", "activation", "ffn_down", "choice of rows", "head", "rest"} == set(parts)
        assert sum(p["share"] for p in parts.values()) == pytest.approx(1)
        for part in parts.values():
            assert list(part) == ["part", "us_per_token", "share"] and part["us_per_token"] > 0


def test_share_follows_speed(model):
    """Two cases of one run stand against one roof: their shares differ as their work a second does."""
    short, long = results_of("--gguf", model, "--prefill", "64,256", "--threads", 1, "--repeat", 1)
    # The head runs once a prompt, so a token of the short prompt takes a little more work than one of the long.
    ratio = (short["share_of_roof"] / short["tok_s"]) / (long["share_of_roof"] / long["tok_s"])
    assert 1.0 < ratio < 1.2
    assert short["range"] == [short["tok_s"]] * 2


def test_kinds_may_be_absent(model):
    assert {r["kind"] for r in results_of(model, "--decode", 4, "--repeat", 1)} == {"decode"}
    assert {r["kind"] for r in results_of(model, "--prefill", 4, "--repeat", 1)} == {"prefill"}
    assert [(r["kind"], r["n"], r["rows"]) for r in results_of(model, "--repeat", 1)] == [("prefill", 512, 1), ("decode", 128, 1)]


@pytest.mark.parametrize("isa", [name for name in kernel_tables() if machine_runs(name)])
def test_every_kernel_table(model, isa):
    for result in results_of(model, "--prefill", 8, "--decode", 2, "--repeat", 1, TEMPO9_CPU_ISA=isa, TEMPO9_THREADS="1"):
        check_result(result)


def test_table_for_people(model):
    done = run_binary("bench", model, "--prefill", 8, "--decode", 2, "--repeat", 1, "--threads", 1, timeout=300)
    assert done.returncode == 0 and str(model) in done.stdout and "1 threads" in done.stdout
    assert re.search(r"^prefill +8 +1 +0 +[\d.]+ +[\d.]+ - [\d.]+ +[\d.]+ % of int8 dot products$", done.stdout, re.M)
    assert re.search(r"^decode +2 +1 +0 +[\d.]+ +[\d.]+ - [\d.]+ +[\d.]+ % of read bandwidth$", done.stdout, re.M)


def test_more_than_the_file_declares_warns(model):
    done = run_binary("bench", model, "--decode", 1, "--depth", 5000, "--repeat", 1, "--json", timeout=300)
    assert done.returncode == 0 and done.stderr.count("\n") == 1 and "5001" in done.stderr


def test_roofs():
    done = run_binary("bench", "--roofs", "--json", "--threads", 2, "--repeat", 3, timeout=300)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    printed = json.loads(done.stdout)
    assert list(printed) == ["roofs"]
    roofs = printed["roofs"]
    assert [(r["kind"], r["threads"]) for r in roofs] == [(k, n) for k in ("int8_dot", "f32_fma", "read") for n in (1, 2)]
    best = next(name for name in kernel_tables() if machine_runs(name))
    for roof in roofs:
        assert list(roof) == ROOF_KEYS and roof["isa"] == best
        lowest, highest = roof["range"]
        assert 0 < lowest <= roof["rate"] <= highest
        assert roof["unit"] == ("GB/s" if roof["kind"] == "read" else "G multiply-adds/s")


def test_roofs_of_one_thread_and_beside_a_model(model):
    done = run_binary("bench", model, "--roofs", "--json", "--threads", 1, "--repeat", 1, "--prefill", 8, timeout=300)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert list(printed) == ["roofs", "results"]
    assert [r["threads"] for r in printed["roofs"]] == [1, 1, 1]
    check_result(printed["results"][0])
    table = run_binary("bench", "--roofs", "--threads", 1, "--repeat", 1, timeout=300)
    assert table.returncode == 0 and all(word in table.stdout for word in ("int8 dot products", "f32", "read bandwidth"))


@pytest.mark.parametrize("args, says", [
    ([], "--gguf"), ([], "--roofs"), (["--gguf", "F.gguf", "--rows", "0", "--decode", "1"], "--rows"),
    (["F.gguf", "--prefill", "many"], "--prefill"), (["F.gguf", "--prefill", "8", "--depth", "4"], "--decode"),
    (["F.gguf", "--threads", "-1"], "threads"), (["F.gguf", "--repeat", "0"], "1 to"), (["--roof"], "--roofs"),
])
def test_wrong_usage(args, says):
    done = run_binary("bench", *args)
    assert done.returncode == 2 and says in done.stderr and done.stdout == "", done.stderr
    assert done.stderr.startswith("tempo9: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("content, says", [(None, "none.gguf"), (b"not a model at all" * 100, "none.gguf")])
def test_files_that_are_none(tmp_path, content, says):
    path = tmp_path / "none.gguf"
    if content is not None:
        path.write_bytes(content)
    done = run_binary("bench", "--gguf", path, "--json")
    assert done.returncode == 1 and says in done.stderr and done.stdout == ""


def test_wrong_isa_and_too_much(model):
    done = run_binary("bench", model, "--prefill", 8, TEMPO9_CPU_ISA="mmx")
    assert done.returncode == 1 and "mmx" in done.stderr and done.stdout == ""
    done = run_binary("bench", model, "--decode", 1048576, "--rows", 256)
    assert done.returncode == 1 and "--rows" in done.stderr and done.stdout == ""


def test_help_mentions_it():
    assert "tempo9 bench" in run_binary("--help").stdout
    done = run_binary("bench", "--help")
    assert done.returncode == 0 and "--prefill" in done.stdout and done.stderr == ""
