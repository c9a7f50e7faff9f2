"""What docs/models.md says of each family is what tools/support_matrix found, and no family that runs is left out."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

import support_checks  # noqa: E402


def test_the_table_is_the_tools_and_names_every_architecture():
    done = subprocess.run([sys.executable, ROOT / "tools/support_matrix", "--check"], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_what_may_be_read_in_the_table():
    rows = json.loads((ROOT / "tests/data/support_matrix.json").read_text())
    assert {row["architecture"] for row in rows} == set(support_checks.architectures())
    for row in rows:
        tried = {"text", "determinism"} if "random" in row["weights"] else {"determinism"}
        assert all(row[column] == support_checks.YES for column in tried), row


def test_a_different_bit_and_a_missing_case_are_told(tmp_path, monkeypatch):
    """A proof with a difference, and one without the disk, as `tempo9 doctor` prints them."""
    def case(name, different=0):
        return {"name": name, "replies": 2, "different": different, "first_difference": ""}
    cases = [case("1 thread"), case("2 threads", 1), case("the prompt in slices of 64"), case("beside 7 others"),
             case("50 % of the prompt cached"), case("99 % of the prompt cached")]
    proof = {"checks": [{"name": "determinism", "found": "", "details": {"cases": cases}}]}
    fake = tmp_path / "tempo9"
    fake.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(proof)}\nEND\n")
    fake.chmod(0o755)
    monkeypatch.setenv("TEMPO9_BIN", str(fake))
    same, restored = support_checks.in_every_circumstance(tmp_path / "any.gguf")
    assert same == "failed: 2 threads" and restored == "failed: disk after a restart"
