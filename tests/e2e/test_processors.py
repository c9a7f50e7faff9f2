"""Other processors than this one, played by qemu-user: which kernels are chosen, and what is said where none can run."""

import shutil
import subprocess

import pytest
from conftest import binary, clean_environment

QEMU = shutil.which("qemu-x86_64")
NEEDS = {"avx2", "fma", "f16c"}


def on(processor: str, *args, **environment) -> subprocess.CompletedProcess:
    if QEMU is None:
        pytest.skip("qemu-x86_64 is not there; scripts/setup --tests gets it")
    if any(name in binary().read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        pytest.skip("builds with sanitizers do not run under qemu-user")
    done = subprocess.run([QEMU, "-cpu", processor, binary(), *map(str, args)], capture_output=True, text=True, timeout=120,
                          env=clean_environment(**environment))
    lines = done.stderr.splitlines(keepends=True)  # among them qemu's own about what it cannot play
    done.stderr = "".join(line for line in lines if not line.startswith("qemu-"))
    return done


def test_without_avx2_one_line_says_what_is_missing(tmp_path):
    script = tmp_path / "s.jsonl"
    script.write_text("")
    for args in (["--script", script, "--port", 0], ["bench", "--roofs"]):
        done = on("Nehalem", *args)
        assert done.returncode == 1 and done.stdout == "", done
        assert done.stderr.startswith("tempo9: ") and done.stderr.count("\n") == 1, done.stderr
        assert all(feature in done.stderr for feature in NEEDS | {"TEMPO9_CPU_ISA=scalar"}), done.stderr


def test_without_avx2_when_told_to():
    done = on("Nehalem", "bench", "--roofs", "--threads", 1, "--repeat", 1, TEMPO9_CPU_ISA="scalar")
    assert done.returncode == 0 and done.stdout.startswith("kernel table scalar\n"), done


def test_without_avx512():
    done = on("Haswell", "bench", "--roofs", "--threads", 1, "--repeat", 1)
    assert done.returncode == 0 and done.stdout.startswith("kernel table avx2\n"), done
    done = on("Haswell", "bench", "--roofs", TEMPO9_CPU_ISA="avx512")
    assert done.returncode == 1 and "'avx512'" in done.stderr and "avx2, scalar" in done.stderr and done.stderr.count("\n") == 1
