"""tests/reliability/run.py in small: what can be seen in seconds. All of it, in full: docs/reliability.md."""

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, binary

FAULTS = ["jumping_clock"]  # preloads a library: not into a program with sanitizers


@pytest.mark.parametrize("case", ["streaming_clients", "terminated", *FAULTS])
def test_a_case(case):
    if case in FAULTS and (not shutil.which("cc") or "asan" in str(binary()) or "tsan" in str(binary())):
        pytest.skip("no compiler in PATH, or a program with sanitizers, which have an allocator of their own")
    done = subprocess.run([sys.executable, ROOT / "tests/reliability/run.py", binary(), "--scale", "10", "--case", case],
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and done.stdout.startswith("ok "), done.stdout + done.stderr
