"""A newcomer's walk: docs/getting-started.md from the first command to a connected client (marker "model")."""

import subprocess
import sys

import pytest
from conftest import ROOT, binary, model_path

sys.path.insert(0, str(ROOT / "tests/walk"))

import walk  # noqa: E402

pytestmark = pytest.mark.model


def test_getting_started_leads_to_a_connected_client():
    done = subprocess.run([sys.executable, ROOT / "tests/walk/run", binary(), "--model", model_path("smollm2")],
                          capture_output=True, text=True, timeout=walk.LIMIT_SECONDS)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    commands = [text for kind, text in walk.steps(walk.PAGE) if kind == "sh" and not text.startswith("apt-get ")]
    assert len(commands) >= 8 and all(command in done.stdout for command in commands)


def test_a_step_that_fails_ends_the_walk(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```\ntempo9 pull o/r:Q4_K_M\n```\n\n```\ntempo9 show /nothing.gguf\n```\n")
    done = subprocess.run([sys.executable, ROOT / "tests/walk/run", binary(), "--model", model_path("smollm2"), "--page", page],
                          capture_output=True, text=True, timeout=walk.LIMIT_SECONDS)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 1 and "tempo9 show /nothing.gguf: exit code 1" in done.stdout, done.stdout + done.stderr
