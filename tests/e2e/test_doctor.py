"""tempo9 doctor: the user's own proof (marker "model")."""

import pytest
from conftest import model_path, run_binary


@pytest.mark.model
def test_one_text_always():
    done = run_binary("doctor", "--determinism", model_path("smollm2"), "--prompt", 300, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "DIFFERENT" not in done.stdout and lines[-1].startswith("One text, always")
    equal = {line.removeprefix("equal").strip() for line in lines if line.startswith("equal")}
    assert equal >= {"0 % of the prompt cached", "25 % of the prompt cached", "50 % of the prompt cached",
                     "99 % of the prompt cached", "beside 7 others", "1 thread", "2 threads",
                     "the prompt in slices of 64", "the prompt in slices of 512", "the prompt in slices of 2048",
                     "the prompt read from disk after a restart"}


def test_a_check_and_a_model_are_asked_for():
    done = run_binary("doctor")
    assert done.returncode == 2 and "--determinism F.gguf" in done.stderr
