"""Every workload of bench/serve plays to its end, in small, and measures what it says. Real model (marker "model")."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import binary, model_path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/serve"), str(ROOT / "bench/vs")]

from spec import Values  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

pytestmark = pytest.mark.model


def play(name: str, out: Path) -> Values:
    model = model_path("smollm2")
    done = subprocess.run([sys.executable, ROOT / "bench/serve/run.py", name, "--quick", "--engines", "tempo9", "--gguf", model,
                           "--tempo9", binary(), "--out", out], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((out / name / f"{model.stem}.json").read_text())
    (played,) = result["engines"]["tempo9"]["rounds"]
    assert set(played["values"]) == set(WORKLOADS[name].cells), "a cell without a value, or a value without a cell"
    assert all(value >= 0 or "over" in cell for cell, values in played["values"].items() for value in values)
    assert str(ROOT) not in json.dumps(result), "a result tells the machine's folders"
    return Values(result)


@pytest.mark.parametrize("name", sorted(WORKLOADS.keys() - {"kills", "restart", "memory_cap", "agent_rounds", "load_tool"}))
def test_plays(name, tmp_path):
    play(name, tmp_path)


# What holds at any speed.
@pytest.mark.parametrize("name", ["kills", "memory_cap"])
def test_proofs_hold(name, tmp_path):
    values = play(name, tmp_path)
    for claim in WORKLOADS[name].claims:
        assert claim.judge(values), claim.words


def test_restart_is_served_from_disk_with_the_same_text(tmp_path):
    values = play("restart", tmp_path)
    assert values.ours("same_text") == [100] and values.ours("from_disk")[0] > 90


def test_agent_rounds_finish(tmp_path):
    assert play("agent_rounds", tmp_path).ours("finished") == [4]
